from .activations import (
    ACTIVATIONS as ACTIVATIONS,
)
from .adaptive import (
    AdaptiveFilter as AdaptiveFilter,
)
from .band import (
    BANDS as BANDS,
    BandFilter as BandFilter,
)
from .bandpass import (
    BandpassFilter as BandpassFilter,
)
from .base import (
    Filter as Filter,
)
from .chebyshev import (
    CHEBYSHEV_STARTS as CHEBYSHEV_STARTS,
    ChebyshevFilter as ChebyshevFilter,
)
from .gcn import (
    FORMS as FORMS,
    GCNFilter as GCNFilter,
)
from .heat import (
    HeatFilter as HeatFilter,
)
from .polynomial import (
    MAX_ORDER as MAX_ORDER,
    STARTS as STARTS,
    PolynomialFilter as PolynomialFilter,
)
from .ppr import (
    PPRFilter as PPRFilter,
)
from .registry import (
    FILTERS as FILTERS,
    make_filter as make_filter,
)
from .shared import (
    SharedFilter as SharedFilter,
)
