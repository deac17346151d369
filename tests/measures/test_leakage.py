import torch
from hypothesis import given, settings, strategies as st
from torch_geometric.data import Data

from herofilter.data import to_sparse
from herofilter.measures import repeated_test_rows

ROWS = st.lists(st.tuples(*[st.sampled_from([0.0, -0.0, 1.0, -1.0])] * 2), min_size=1, max_size=9)


def graph(x: torch.Tensor, parts: list[int]) -> Data:
    part = torch.tensor(parts)
    return Data(x=x, train_mask=part == 0, test_mask=part == 1)


@given(ROWS, st.data())
@settings(max_examples=100, deadline=None)
def test_count_equals_a_slow_loop_dense_and_sparse(
    rows: list[tuple[float, float]], draw: st.DataObject
) -> None:
    size = len(rows)
    parts = draw.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    train = [row for row, part in zip(rows, parts, strict=True) if part == 0]
    test = [row for row, part in zip(rows, parts, strict=True) if part == 1]
    expected = sum(row in train and any(row) for row in test)
    x = torch.tensor(rows)
    assert repeated_test_rows(graph(x, parts)) == expected
    assert repeated_test_rows(graph(to_sparse(x), parts)) == expected


def test_same_values_in_other_columns_are_another_row() -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert repeated_test_rows(graph(x, [0, 1])) == 0


def test_zeros_that_are_stored_do_not_matter_and_the_input_stays() -> None:
    x = torch.sparse_csr_tensor(
        torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), torch.tensor([0.0, 2.0, 2.0]), (2, 2)
    )
    assert repeated_test_rows(graph(x, [0, 1])) == 1
    assert x.values().tolist() == [0.0, 2.0, 2.0]
