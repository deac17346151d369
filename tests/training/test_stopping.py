import pytest
import torch
from torch import nn

from herofilter.training.metrics import Score
from herofilter.training.stopping import EarlyStopping


def weight_of(value: float) -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    return set_weight(model, value)


def set_weight(model: nn.Linear, value: float) -> nn.Linear:
    with torch.no_grad():
        model.weight.fill_(value)
    return model


def run(stopping: EarlyStopping, scores: list[Score]) -> list[bool]:
    model = weight_of(0.0)
    return [stopping.update(epoch, score, model) for epoch, score in enumerate(scores)]


def test_best_state_is_a_copy() -> None:
    stopping = EarlyStopping("accuracy", patience=5)
    model = weight_of(1.0)
    stopping.update(0, Score(0.9, 0.1), model)
    # in place, as an optimiser does it
    set_weight(model, 2.0)
    stopping.update(1, Score(0.5, 0.5), model)
    stopping.restore(model)
    assert float(model.weight.detach()) == 1.0
    # and the copy outlives a second training
    set_weight(model, 3.0)
    stopping.restore(model)
    assert float(model.weight.detach()) == 1.0


def test_a_better_state_takes_the_memory_of_the_last_one() -> None:
    stopping, model = EarlyStopping("accuracy", patience=5), weight_of(1.0)
    stopping.update(0, Score(0.5, 0.1), model)
    place = stopping.state["weight"].data_ptr()
    stopping.update(1, Score(0.9, 0.1), set_weight(model, 2.0))
    assert stopping.state["weight"].data_ptr() == place != model.weight.data_ptr()
    set_weight(model, 3.0)
    stopping.restore(model)
    assert float(model.weight.detach()) == 2.0


def test_a_buffer_that_has_grown_is_kept() -> None:
    stopping, model = EarlyStopping("accuracy", patience=5), nn.BatchNorm1d(1)
    stopping.update(0, Score(0.5, 0.1), model)
    model.running_mean = torch.tensor([1.0, 2.0])
    stopping.update(1, Score(0.9, 0.1), model)
    assert stopping.state["running_mean"].tolist() == [1.0, 2.0]


def test_an_earlier_go_is_taken_up() -> None:
    stopping, model = EarlyStopping("accuracy", patience=3), weight_of(5.0)
    stopping.resume(4, Score(0.8, 0.2), {"weight": torch.tensor([[7.0]])})
    assert [stopping.is_over(epoch) for epoch in (3, 6, 7)] == [False, False, True]
    assert not stopping.update(5, Score(0.7, 0.1), model)
    stopping.restore(model)
    assert float(model.weight.detach()) == 7.0


def test_buffers_are_kept_too() -> None:
    model = nn.BatchNorm1d(1)
    stopping = EarlyStopping("loss", patience=5)
    stopping.update(0, Score(0.0, 1.0), model)
    model.running_mean.fill_(7.0)
    stopping.restore(model)
    assert float(model.running_mean) == 0.0


def test_nothing_to_restore_before_the_first_epoch() -> None:
    model = weight_of(4.0)
    EarlyStopping("accuracy", patience=1).restore(model)
    assert float(model.weight.detach()) == 4.0


@pytest.mark.parametrize(
    ("monitor", "scores", "best"),
    [
        ("accuracy", [(0.5, 1.0), (0.7, 2.0), (0.6, 0.1)], 1),
        ("accuracy", [(0.7, 1.0), (0.7, 0.9), (0.7, 0.95)], 1),
        ("accuracy", [(0.7, 1.0), (0.7, 1.0)], 0),
        ("accuracy", [(0.0, 3.0), (0.0, 4.0)], 0),
        ("auc", [(0.9, 1.0, 0.6), (0.1, 2.0, 0.8), (0.5, 0.1, 0.7)], 1),
        ("auc", [(0.9, 1.0, 0.8), (0.1, 0.5, 0.8), (0.5, 0.7, 0.8)], 1),
        ("auc", [(0.9, 1.0, None), (0.1, 0.5, None), (0.5, 0.7, None)], 1),
        ("loss", [(0.9, 1.0), (0.1, 0.5), (0.8, 0.7)], 1),
        ("loss", [(0.1, 0.5), (0.9, 0.5)], 0),
    ],
)
def test_which_epoch_is_best(monitor: str, scores: list[tuple[float, ...]], best: int) -> None:
    stopping = EarlyStopping(monitor, patience=99)
    run(stopping, [Score(*score) for score in scores])
    assert stopping.best_epoch == best
    assert stopping.best == Score(*scores[best])


def test_patience_counts_epochs_without_improvement() -> None:
    falling = [Score(0.5, 1.0 + epoch) for epoch in range(4)]
    assert run(EarlyStopping("accuracy", patience=3), falling) == [False, False, False, True]
    assert run(EarlyStopping("accuracy", patience=1), falling[:2]) == [False, True]
    late = [Score(0.5, 1.0), Score(0.4, 1.0), Score(0.6, 1.0), Score(0.5, 1.0), Score(0.5, 1.0)]
    assert run(EarlyStopping("accuracy", patience=2), late) == [False, False, False, False, True]
