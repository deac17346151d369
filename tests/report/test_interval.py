import pytest
from hypothesis import given, strategies as st

from herofilter.report.interval import mean_error, percent_bars, share_interval, spread_error


@given(st.integers(0, 200), st.integers(1, 200))
def test_an_interval_holds_its_share(right: int, total: int) -> None:
    right = min(right, total)
    low, high = share_interval(right, total)
    assert 0 <= low <= right / total <= high <= 1
    (value,), (above,), (below,) = percent_bars([(right, total)])
    assert value - below == pytest.approx(100 * low)
    assert value + above == pytest.approx(100 * high)


def test_intervals_narrow_with_more_nodes() -> None:
    widths = [high - low for low, high in (share_interval(n // 2, n) for n in (10, 100, 1000))]
    assert widths[0] > widths[1] > widths[2]
    assert share_interval(0, 0) == (0.0, 1.0)


def test_few_values_have_wide_intervals() -> None:
    assert mean_error([0.5]) is None
    assert spread_error(1.0, 2) == pytest.approx(12.71 / 2**0.5)
    assert spread_error(1.0, 100) == pytest.approx(0.196, rel=1e-3)
