from typing import Any

import pytest
import torch
from torch import Tensor

from herofilter.settings import TrainConfig
from herofilter.training import seeded
from herofilter.training.metrics import Score
from herofilter.training.optimizers import make_optimizers
from herofilter.training.progress import Epoch, Progress
from herofilter.training.stopping import EarlyStopping
from tests.training.graphs import copies, linear


def progress(seed: int = 0) -> Progress:
    model = linear()
    return Progress(
        model,
        make_optimizers(model, TrainConfig()),
        EarlyStopping("accuracy", 5),
        torch.Generator().manual_seed(seed),
    )


def advanced() -> Progress:
    """Return a training that is two steps into its second epoch."""
    made = progress()
    weight = made.model.layer.weight
    for _ in range(2):
        weight.grad = torch.randn(weight.shape)
        made.optimizers[0].step()
    made.stopping.update(0, Score(0.5, 1.0), made.model)
    made.history.append(Epoch(0, 1.5, 1.0, 0.5, {"low": [0.5, 1.0]}))
    made.end_epoch()
    made.filters = {"low": [0.25, 1.0]}
    made.batches(torch.arange(20), 4)
    torch.rand(3, generator=made.generator)
    made.end_step(2.0)
    made.end_step(1.0)
    return made


def test_batches_are_all_nodes_in_an_order_of_the_epoch() -> None:
    made, nodes = progress(), torch.arange(100, 120)
    first, second = (torch.cat(made.batches(nodes, 6)) for _ in range(2))
    assert [batch.numel() for batch in made.batches(nodes, 6)] == [6, 6, 6, 2]
    assert torch.equal(first.sort().values, nodes)
    assert not torch.equal(first, second)
    (whole,) = made.batches(nodes, 20)
    assert torch.equal(whole, nodes)


def test_the_rest_of_an_epoch_keeps_its_order_and_later_draws() -> None:
    made, nodes = progress(), torch.arange(20)
    whole = made.batches(nodes, 4)
    torch.rand(3, generator=made.generator)
    before = made.generator.get_state()
    for step in range(1, 6):
        made.end_step(1.0)
        rest = made.batches(nodes, 4)
        assert len(rest) == 5 - step
        assert all(torch.equal(*pair) for pair in zip(rest, whole[step:], strict=True))
        assert torch.equal(made.generator.get_state(), before)


def test_an_epoch_of_one_step_has_no_rest() -> None:
    made = progress()
    made.end_step(1.0)
    assert made.batches(torch.arange(3), 3) == ()


def test_everything_is_taken_up() -> None:
    source, target = advanced(), progress(seed=9)
    with seeded(4):
        torch.rand(2)
        tensors = {key: value.clone() for key, value in source.tensors().items()}
        scalars, drawn = source.scalars(), torch.rand(3)
    with seeded(5):
        target.resume(tensors, scalars)
        assert torch.equal(torch.rand(3), drawn)
        torch.set_rng_state(tensors["random.torch"])
        again = target.tensors()
        assert again.keys() == tensors.keys()
        assert all(torch.equal(again[key], tensors[key]) for key in again)
    assert target.scalars() == scalars
    assert (target.epoch, target.step, target.loss) == (1, 2, 3.0)
    assert target.history == [Epoch(0, 1.5, 1.0, 0.5, {"low": [0.5, 1.0]})]
    assert target.filters == {"low": [0.25, 1.0]}
    assert target.stopping.best == Score(0.5, 1.0)
    rest = (made.batches(torch.arange(20), 4) for made in (source, target))
    assert all(torch.equal(*pair) for pair in zip(*rest, strict=True))


def test_what_is_taken_up_shares_no_memory() -> None:
    source, target = advanced(), progress()
    tensors, scalars = source.tensors(), source.scalars()
    target.resume(tensors, scalars)
    pointers = {value.data_ptr() for value in tensors.values() if value.numel()}
    kept = [*target.stopping.state.values(), *target.model.state_dict().values()]
    kept += [value for state in target.optimizers[0].state.values() for value in state.values()]
    assert len(kept) > 6
    assert not pointers & {value.data_ptr() for value in kept}


def wrong(tensors: dict[str, Tensor], scalars: dict[str, Any], how: str) -> None:
    if how == "a weight is missing":
        del tensors["model.layer.weight"]
    elif how == "another shape":
        tensors["model.layer.weight"] = torch.zeros(1)
    elif how == "a best state of another model":
        tensors["best.other"] = torch.zeros(1)
    elif how == "a moment of no weight":
        tensors["optimizer.0.9.exp_avg"] = torch.zeros(1)
    elif how == "a moment of another shape":
        tensors["optimizer.0.0.exp_avg"] = torch.zeros(2, 2)
    elif how == "no generator":
        tensors["random.own"] = torch.zeros(3)
    elif how == "no history":
        del scalars["history"]
    else:
        scalars["history"] = [{"epoch": 1}]


@pytest.mark.parametrize(
    "how",
    [
        "a weight is missing",
        "another shape",
        "a best state of another model",
        "a moment of no weight",
        "a moment of another shape",
        "no generator",
        "no history",
        "another history",
    ],
)
def test_what_does_not_fit_changes_nothing(how: str) -> None:
    source, target = advanced(), progress()
    tensors, scalars = source.tensors(), source.scalars()
    wrong(tensors, scalars, how)
    before, state = copies(target.model), target.generator.get_state()
    with pytest.raises((KeyError, TypeError, ValueError)):
        target.resume(tensors, scalars)
    assert all(torch.equal(before[key], value) for key, value in copies(target.model).items())
    assert torch.equal(target.generator.get_state(), state)
    assert target.scalars() == progress().scalars()
    assert not target.optimizers[0].state
