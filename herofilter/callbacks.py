"""How long work reports its progress: one event type, one callback type."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Value = float | str | None
# the names of hyperparameters among the values of a trial's event begin so
SETTING = "set."


@dataclass(frozen=True)
class Event:
    """How far long work is. Events hold plain values only, so they can be pickled.

    Args:
        stage: what is counted: ``epoch``, ``split``, ``member``, ``trial``, ``job`` or ``rows``.
        done: how many of them are finished.
        total: how many there are in all, where that is known.
        name: what was just finished or is under way.
        values: metrics such as ``train_loss`` and ``val_accuracy``, and what they belong to, such
            as ``split``.

    Example:
        >>> event = Event("epoch", 3, 500, values={"val_accuracy": 0.75, "split": 0})
        >>> event.number("val_accuracy"), event.number("test_accuracy")
        (0.75, nan)
    """

    stage: str
    done: int
    total: int | None = None
    name: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)

    def number(self, key: str) -> float:
        """Return a value as a float; NaN where the event has no such number."""
        value = self.values.get(key)
        return float("nan") if value is None or isinstance(value, str) else float(value)


Callback = Callable[[Event], None]
"""Takes each event as it happens; an exception that it raises ends the work."""


def notify(
    callback: Callback | None,
    stage: str,
    done: int,
    total: int | None = None,
    name: str = "",
    values: Mapping[str, Value] | None = None,
) -> None:
    """Call ``callback`` with an event, if there is one."""
    if callback is not None:
        callback(Event(stage, done, total, name, dict(values or {})))


def with_values(callback: Callback | None, **values: Value) -> Callback | None:
    """Return a callback that passes events on with more values, such as ``split=0``.

    Example:
        >>> with_values(print, split=1)(Event("epoch", 1))
        Event(stage='epoch', done=1, total=None, name='', values={'split': 1})
    """
    if callback is None:
        return None
    return lambda event: callback(replace(event, values={**event.values, **values}))


def setting_values(settings: Mapping[str, Any]) -> dict[str, Value]:
    """Return hyperparameters of a trial as values of its event, each named ``set.NAME``.

    Example:
        >>> setting_values({"lr": 0.01, "filter_starts": ["low", "hop2"], "residual": True})
        {'set.lr': 0.01, 'set.filter_starts': 'low,hop2', 'set.residual': 'true'}
    """
    return {f"{SETTING}{key}": _plain(value) for key, value in settings.items()}


def _plain(value: Any) -> Value:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if value is None or isinstance(value, int | float | str) else str(value)


def together(*callbacks: Callback) -> Callback:
    """Return a callback that passes every event to several, in order.

    Example:
        >>> together(lambda event: print("a"), lambda event: print("b"))(Event("epoch", 1))
        a
        b
    """

    def all_of_them(event: Event) -> None:
        for callback in callbacks:
            callback(event)

    return all_of_them


def part_of(callback: Callback | None, before: int, count: int, total: int) -> Callback | None:
    """Return a callback for a part of some work, which passes events on as those of all of it.

    Args:
        callback: takes the events of all the work.
        before: what was done before this part.
        count: how much of the work this part is.
        total: how much work there is in all.

    Example:
        >>> part_of(lambda event: print(event.done, event.total), 100, 50, 200)(Event("rows", 1, 2))
        125 200
    """
    if callback is None:
        return None

    def scaled(event: Event) -> None:
        done = before + count * event.done // max(event.total or 0, 1)
        callback(replace(event, done=done, total=total))

    return scaled
