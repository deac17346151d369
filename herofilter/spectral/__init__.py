"""Linear algebra of graphs: normalised adjacency, eigenbases, filters g(λ), scores."""

from herofilter.spectral.adjacency import DIRECTED_RULES, adjacency, normalise, normalised_adjacency
from herofilter.spectral.cache import cached_eigenbasis, cached_singular_basis, eigen_key
from herofilter.spectral.eigen import Eigenbasis, eigen_decompose, eigen_memory
from herofilter.spectral.filters import (
    ACTIVATIONS,
    FILTERS,
    STARTS,
    AdaptiveFilter,
    BandpassFilter,
    Filter,
    GCNFilter,
    HeatFilter,
    PolynomialFilter,
    PPRFilter,
    SharedFilter,
    make_filter,
)
from herofilter.spectral.memory import check_memory, format_bytes
from herofilter.spectral.ranking import top_p
from herofilter.spectral.scores import dense_scores, sampled_scores
from herofilter.spectral.singular import SingularBasis, singular_decompose

__all__ = [
    "ACTIVATIONS",
    "DIRECTED_RULES",
    "FILTERS",
    "STARTS",
    "AdaptiveFilter",
    "BandpassFilter",
    "Eigenbasis",
    "Filter",
    "GCNFilter",
    "HeatFilter",
    "PPRFilter",
    "PolynomialFilter",
    "SharedFilter",
    "SingularBasis",
    "adjacency",
    "cached_eigenbasis",
    "cached_singular_basis",
    "check_memory",
    "dense_scores",
    "eigen_decompose",
    "eigen_key",
    "eigen_memory",
    "format_bytes",
    "make_filter",
    "normalise",
    "normalised_adjacency",
    "sampled_scores",
    "singular_decompose",
    "top_p",
]
