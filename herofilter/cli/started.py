"""When the command began, for a user's clock: before the libraries were loaded."""

import time

# a process that is older when its command begins was started for something else
_LOADING = 10.0
_marks: list[float] = []


def mark_start() -> None:
    """Note that a command begins now, or with its process if that is only just there."""
    import psutil

    age = time.time() - psutil.Process().create_time()
    _marks[:] = [time.perf_counter() - (age if age < _LOADING else 0.0)]


def started() -> float:
    """Return the :func:`time.perf_counter` at which the command began."""
    return _marks[0] if _marks else time.perf_counter()
