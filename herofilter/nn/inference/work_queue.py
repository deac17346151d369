"""Threads that share out pieces of work while they run compiled code."""

import threading
from typing import Any

from numba import config, types
from numba.extending import intrinsic

from herofilter.spectral.vectors import start_of


@intrinsic
def _take_turn(context: Any, counter: Any, step: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        address = start_of(context, builder, signature.args[0], given[0])
        return builder.atomic_rmw("add", address, given[1], "monotonic")

    return types.int64(counter, types.int64), generate


_lock = threading.Lock()


def _plain(counter: Any, step: int) -> int:
    """Add ``step`` to ``counter[0]`` and return what it was: no two threads get the same."""
    with _lock:
        before = int(counter[0])
        counter[0] += step
        return before


take_turn = _plain if config.DISABLE_JIT else _take_turn
