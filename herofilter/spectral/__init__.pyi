from .adjacency import (
    DIRECTED_RULES as DIRECTED_RULES,
    adjacency_matrix as adjacency_matrix,
    normalise as normalise,
    normalised_adjacency as normalised_adjacency,
)
from .cache import (
    cached_eigenbasis as cached_eigenbasis,
    cached_singular_basis as cached_singular_basis,
    eigen_key as eigen_key,
)
from .density import (
    SpectralDensity as SpectralDensity,
    spectral_density as spectral_density,
)
from .eigen import (
    Eigenbasis as Eigenbasis,
    eigen_decompose as eigen_decompose,
    eigen_memory as eigen_memory,
)
from .filters import (
    ACTIVATIONS as ACTIVATIONS,
    FILTERS as FILTERS,
    STARTS as STARTS,
    AdaptiveFilter as AdaptiveFilter,
    BandFilter as BandFilter,
    BandpassFilter as BandpassFilter,
    ChebyshevFilter as ChebyshevFilter,
    Filter as Filter,
    GCNFilter as GCNFilter,
    HeatFilter as HeatFilter,
    PolynomialFilter as PolynomialFilter,
    PPRFilter as PPRFilter,
    SharedFilter as SharedFilter,
    make_filter as make_filter,
)
from .ranking import (
    top_p as top_p,
)
from .scores import (
    dense_scores as dense_scores,
    sampled_scores as sampled_scores,
)
from .singular import (
    SingularBasis as SingularBasis,
    singular_decompose as singular_decompose,
)
