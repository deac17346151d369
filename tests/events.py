"""Events of long work, as the tests look at them."""

from collections.abc import Iterable

from herofilter.callbacks import Callback, Event


def epochs(events: Iterable[Event]) -> list[tuple[int, int]]:
    """Return the split and the epoch, from 0, of every event of stage epoch."""
    return [
        (int(event.number("split")), event.done - 1) for event in events if event.stage == "epoch"
    ]


def steps(events: Iterable[Event]) -> list[tuple[int, int | None]]:
    """Return how many of how many were done at every event."""
    return [(event.done, event.total) for event in events]


def stop_in(split: int, epoch: int, error: BaseException) -> Callback:
    """Return a callback that raises an error at the end of an epoch of a split."""

    def callback(event: Event) -> None:
        if epochs([event]) == [(split, epoch)]:
            raise error

    return callback


def stop_after(count: int) -> Callback:
    """Return a callback that presses Ctrl-C as soon as so many are done."""

    def callback(event: Event) -> None:
        if event.done == count:
            raise KeyboardInterrupt

    return callback


def told(events: Iterable[Event]) -> list[tuple[int, int | None, str]]:
    """Return how many of how many were done, and the name, at every event."""
    return [(event.done, event.total, event.name) for event in events]
