"""What a graph is like, and what a trained filter makes of it."""

from herofilter.analysis.card import DataCard, MemoryNeed, SplitSizes, data_card
from herofilter.analysis.explain import Explanation, TokenShare, explain_node
from herofilter.analysis.heterophily import (
    adjusted_homophily,
    class_adjusted_heterophily,
    compatibility,
    edge_heterophily,
    label_informativeness,
    node_heterophily,
    node_heterophily_vector,
    spectral_heterophily,
)
from herofilter.analysis.leakage import repeated_test_rows
from herofilter.analysis.response import FilterResponse, filter_response

__all__ = [
    "DataCard",
    "Explanation",
    "FilterResponse",
    "MemoryNeed",
    "SplitSizes",
    "TokenShare",
    "adjusted_homophily",
    "class_adjusted_heterophily",
    "compatibility",
    "data_card",
    "edge_heterophily",
    "explain_node",
    "filter_response",
    "label_informativeness",
    "node_heterophily",
    "node_heterophily_vector",
    "repeated_test_rows",
    "spectral_heterophily",
]
