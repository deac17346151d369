"""Spectral filters g(λ), one per file."""

from herofilter.spectral.filters.activations import ACTIVATIONS
from herofilter.spectral.filters.adaptive import AdaptiveFilter
from herofilter.spectral.filters.bandpass import BandpassFilter
from herofilter.spectral.filters.base import Filter
from herofilter.spectral.filters.gcn import FORMS, GCNFilter
from herofilter.spectral.filters.heat import HeatFilter
from herofilter.spectral.filters.polynomial import MAX_ORDER, STARTS, PolynomialFilter
from herofilter.spectral.filters.ppr import PPRFilter
from herofilter.spectral.filters.registry import FILTERS, make_filter
from herofilter.spectral.filters.shared import SharedFilter

__all__ = [
    "ACTIVATIONS",
    "FILTERS",
    "FORMS",
    "MAX_ORDER",
    "STARTS",
    "AdaptiveFilter",
    "BandpassFilter",
    "Filter",
    "GCNFilter",
    "HeatFilter",
    "PPRFilter",
    "PolynomialFilter",
    "SharedFilter",
    "make_filter",
]
