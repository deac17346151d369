import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from herofilter.training.row_adam import RowAdam

SIZE, WIDTH = 12, 5


def table() -> nn.Parameter:
    return nn.Parameter(torch.randn(SIZE, WIDTH, generator=torch.Generator().manual_seed(0)))


def gradients(steps: int, rows: int = SIZE) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(rows, WIDTH, generator=generator) for _ in range(steps)]


def touch(weight: nn.Parameter, optimizer: RowAdam, rows: list[int], upstream: Tensor) -> None:
    optimizer.zero_grad()
    embedding(torch.tensor(rows), weight, sparse=True).backward(upstream)
    optimizer.step()


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_are_always_touched_move_as_under_adam(sparse: bool) -> None:
    own, other = table(), table()
    start = table().detach()
    optimizer, adam = RowAdam([own], lr=0.02), torch.optim.Adam([other], lr=0.02)
    for gradient in gradients(30):
        own.grad = gradient.to_sparse(1) if sparse else gradient
        other.grad = gradient
        optimizer.step()
        adam.step()
    torch.testing.assert_close(own, other, rtol=1e-5, atol=1e-6)
    assert float((own.detach() - start).abs().min()) > 1e-3


def test_other_rows_stay_to_the_bit() -> None:
    weight, start = table(), table().detach()
    optimizer = RowAdam([weight], lr=0.1)
    for gradient in gradients(5, rows=2):
        touch(weight, optimizer, [3, 7], gradient)
    touched = torch.zeros(SIZE, dtype=torch.bool)
    touched[[3, 7]] = True
    assert torch.equal(weight[~touched], start[~touched])
    assert bool((weight[touched] != start[touched]).all())
    state = optimizer.state[weight]
    assert state["step"].tolist() == [5 * int(flag) for flag in touched]
    assert not bool(state["exp_avg"][~touched].any())
    assert not bool(state["exp_avg_sq"][~touched].any())


def test_time_passes_for_a_row_only_when_it_is_touched() -> None:
    results = []
    for gaps in (0, 7):
        weight = table()
        optimizer = RowAdam([weight], lr=0.1)
        for gradient in gradients(3, rows=1):
            touch(weight, optimizer, [3], gradient)
            for _ in range(gaps):
                touch(weight, optimizer, [5], gradient)
        results.append(weight[3])
    assert torch.equal(*results)


@pytest.mark.parametrize("rows", [[7, 3], [3, 7, 3], [7, 7, 3]])
def test_a_row_that_is_read_twice_has_the_sum(rows: list[int]) -> None:
    results = []
    for sparse in (True, False):
        weight = table()
        optimizer = RowAdam([weight], lr=0.1)
        for upstream in gradients(4, rows=len(rows)):
            optimizer.zero_grad()
            embedding(torch.tensor(rows), weight, sparse=sparse).backward(upstream)
            optimizer.step()
        results.append(weight[[3, 7]])
    torch.testing.assert_close(*results)


def test_the_state_is_two_copies_and_one_number_a_row() -> None:
    weight = table()
    optimizer = RowAdam([weight])
    touch(weight, optimizer, [0], torch.ones(1, WIDTH))
    sizes = {key: value.numel() for key, value in optimizer.state[weight].items()}
    assert sizes == {"step": SIZE, "exp_avg": SIZE * WIDTH, "exp_avg_sq": SIZE * WIDTH}


def test_a_table_without_a_gradient_is_left_alone() -> None:
    weight = table()
    optimizer = RowAdam([weight])
    optimizer.step()
    assert torch.equal(weight, table())
    assert weight not in optimizer.state
