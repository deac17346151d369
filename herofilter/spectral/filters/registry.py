"""Filters by name; the contract test runs over all of them."""

from herofilter.errors import check_choice
from herofilter.spectral.filters.adaptive import AdaptiveFilter
from herofilter.spectral.filters.band import BandFilter
from herofilter.spectral.filters.bandpass import BandpassFilter
from herofilter.spectral.filters.base import Filter
from herofilter.spectral.filters.chebyshev import ChebyshevFilter
from herofilter.spectral.filters.gcn import GCNFilter
from herofilter.spectral.filters.heat import HeatFilter
from herofilter.spectral.filters.polynomial import PolynomialFilter
from herofilter.spectral.filters.ppr import PPRFilter
from herofilter.spectral.filters.shared import SharedFilter

FILTERS: dict[str, type[Filter]] = {
    kind.name: kind
    for kind in (
        AdaptiveFilter,
        SharedFilter,
        ChebyshevFilter,
        HeatFilter,
        BandpassFilter,
        BandFilter,
        PPRFilter,
        GCNFilter,
    )
}
"""The kinds of filter, by the name that the setting ``filter`` has for them."""


def make_filter(
    kind: str, *, order: int = 10, activation: str = "tanh", start: str = "low", c: float = 0.5
) -> Filter:
    """Return the filter of the given name, with those of the settings that it has.

    Args:
        kind: A key of ``FILTERS``.
        order: K of the polynomial filters.
        activation: σ of the polynomial filters.
        start: Starting values of the polynomial filters; the segment of ``band``.
        c: The probability of continuing the random walk, of ``ppr``.

    Example:
        >>> make_filter("ppr", c=0.9)
        PPRFilter(c=0.9)
    """
    check_choice("filter", kind, FILTERS)
    chosen = FILTERS[kind]
    if issubclass(chosen, PolynomialFilter):
        return chosen(order=order, activation=activation, start=start)
    if issubclass(chosen, ChebyshevFilter):
        return chosen(order=order, start=start)
    if issubclass(chosen, BandFilter):
        return chosen.of(start, order)
    if issubclass(chosen, PPRFilter):
        return chosen(c=c)
    return chosen()
