"""Public names that are imported on first use, without the warnings of other libraries.

Some versions of torch and PyG warn while they are imported. The user can do nothing about it, so
such warnings are dropped. Those that are raised later, and all of the user's code, stay.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lazy_loader

_IMPORT_SYSTEM = "<frozen importlib"
_muted = threading.Lock()


def attach_stub(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package with a ``.pyi`` stub.

    Args:
        package: ``__name__`` of the package.
        file: ``__file__`` of the package; the stub lies beside it.
    """
    load, list_names, public = lazy_loader.attach_stub(package, file)

    def load_quietly(name: str) -> Any:
        if name not in public:
            return load(name)
        with without_warnings():
            return load(name)

    return load_quietly, list_names, public


@contextmanager
def without_warnings() -> Iterator[None]:
    """Drop warnings inside the block; another thread in such a block leaves it to that one."""
    # two overlapping blocks could restore each other's filters and mute the process for good
    if not _muted.acquire(blocking=False):
        yield
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _muted.release()


def raised_by_import() -> bool:
    """Return whether this function is called while a module is being imported.

    A replacement of ``warnings.showwarning`` learns by it which warnings not to show.
    """
    frame = sys._getframe(1)
    while not frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return True
