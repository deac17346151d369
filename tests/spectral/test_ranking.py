import pytest
import torch
from hypothesis import given, settings, strategies as st

from herofilter.errors import ConfigError
from herofilter.spectral import top_p


# few distinct values, so that ties are the rule; -inf is how a caller masks a column
@st.composite
def tied_rows(draw):
    columns = draw(st.integers(1, 12))
    score = st.sampled_from([-float("inf"), -1.0, -0.0, 0.0, 0.5, 1.0])
    rows = draw(st.lists(st.lists(score, min_size=columns, max_size=columns), max_size=6))
    return torch.tensor(rows).reshape(-1, columns), draw(st.integers(1, columns))


@settings(deadline=None)
@given(tied_rows())
def test_equals_a_slow_sort(case):
    scores, p = case
    values, index = top_p(scores, p)
    expected = [sorted(range(len(row)), key=lambda j: (-row[j], j))[:p] for row in scores.tolist()]
    assert index.tolist() == expected
    assert torch.equal(values, scores.gather(1, index))


def test_large_blocks_with_and_without_ties():
    scores = torch.randn(50, 3000, generator=torch.Generator().manual_seed(0))
    scores[::2] = scores[::2].round(decimals=1)
    values, index = top_p(scores, 33)
    expected = scores.sort(dim=1, descending=True, stable=True)
    assert torch.equal(values, expected.values[:, :33])
    assert torch.equal(index, expected.indices[:, :33])


def test_impossible_requests_are_refused():
    with pytest.raises(ConfigError, match=r"between 1 and the number of columns \(got 4 of 3\)"):
        top_p(torch.zeros(2, 3), 4)
    with pytest.raises(ConfigError, match="between 1"):
        top_p(torch.zeros(2, 3), 0)
    with pytest.raises(ConfigError, match="scores must be finite"):
        top_p(torch.tensor([[0.0, 1.0], [float("nan"), 1.0]]), 1)
