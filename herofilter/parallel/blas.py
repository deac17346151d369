"""Hold the BLAS libraries of NumPy and SciPy to one thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_held: list[Any] = []
_entered = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let matrix products of NumPy, SciPy and numba use a single thread inside the block.

    The setting is one of the process: the first block sets it and the last one to end restores
    it, so that blocks may overlap in several threads. Products of torch are not affected.
    """
    global _entered
    with _lock:
        if _entered == 0:
            _held.append(_controller().limit(limits=1))
        _entered += 1
    try:
        yield
    finally:
        with _lock:
            _entered -= 1
            if _entered == 0:
                _restore(_held.pop())


def _restore(limits: Any) -> None:
    from threadpoolctl import OpenBLASController

    # later versions let only one thread change it, and the last block to end may be in another
    release = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    release(force=True)
    limits.restore_original_limits()
    release(force=True)


@cache
def _controller() -> Any:
    # numba calls SciPy's BLAS, and a library is found only once it is loaded
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
