"""Events and the callbacks that take them."""

import dataclasses
import math
import pickle

import pytest

import herofilter
from herofilter.callbacks import Event, notify, part_of, with_values


def test_an_event_is_plain_and_frozen() -> None:
    event = Event("epoch", 3, 500, "split 0", {"val_accuracy": 0.5, "state": "completed"})
    assert pickle.loads(pickle.dumps(event)) == event
    assert herofilter.Event is Event
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.done = 4  # type: ignore[misc]


def test_only_numbers_are_numbers() -> None:
    event = Event("trial", 1, values={"best": None, "state": "failed", "split": 2})
    assert event.number("split") == 2.0
    assert all(math.isnan(event.number(name)) for name in ("best", "state", "absent"))


def test_without_a_callback_nothing_happens() -> None:
    notify(None, "rows", 1, 2)
    assert with_values(None, split=1) is None
    assert part_of(None, 0, 1, 2) is None


def test_values_are_added_and_the_event_stays() -> None:
    heard: list[Event] = []
    callback = with_values(heard.append, split=1)
    assert callback is not None
    event = Event("epoch", 1, 5, values={"val_loss": 0.5})
    callback(event)
    assert heard == [Event("epoch", 1, 5, values={"val_loss": 0.5, "split": 1})]
    assert "split" not in event.values


def test_parts_add_up_to_the_total() -> None:
    heard: list[Event] = []
    for number in range(3):
        callback = part_of(heard.append, 10 * number, 10, 30)
        for done in (2, 4):
            notify(callback, "rows", done, 4)
    assert [(event.done, event.total) for event in heard] == [
        (5, 30),
        (10, 30),
        (15, 30),
        (20, 30),
        (25, 30),
        (30, 30),
    ]
