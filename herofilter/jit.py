"""Numba functions whose cache on disk also depends on the functions that they call."""

import hashlib
import inspect
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np

try:
    from numba.core.caching import FunctionCache
except ImportError:  # a later numba may move it: functions are cached as numba does it then
    FunctionCache = None

_CONSTANTS = (bool, int, float, str, bytes, type(None), np.generic)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at its first call, and keep the machine code on disk.

    It is ``numba.njit(cache=True, **options)``, except that numba looks for changes in the file of
    the function alone, and would go on calling the earlier code of a function in another file.
    Here the code on disk is used only if the files of all functions of the same package that are
    called, directly or not, and the constants that are read, are what they were. With
    ``NUMBA_DISABLE_JIT=1`` the function is returned as it is.

    Args:
        options: those of ``numba.njit``, such as ``nogil=True``.

    Example:
        >>> @compiled(nogil=True)
        ... def total(values):
        ...     return values.sum()
        >>> int(total(np.arange(4)))
        6
    """

    def compile_function(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        # numba raises where it finds no folder to write to: compiled each time anew, it still works
        with suppress(RuntimeError):
            if hasattr(dispatcher, "_cache") and FunctionCache is not None:
                dispatcher._cache = _SourceCache(function)
            elif hasattr(dispatcher, "enable_caching"):
                dispatcher.enable_caching()
        return dispatcher

    return compile_function


def source_stamp(function: Any) -> str:
    """Return a hash of all source files and constants that the compiled form of a function has.

    Functions of other packages than the function's own are left out.
    """
    package, files, constants = _package(function), set[str](), set[str]()
    waiting, seen = [function], set[int]()
    while waiting:
        current = waiting.pop()
        if id(current) in seen or _package(current) != package:
            continue
        seen.add(id(current))
        files.add(current.__code__.co_filename)
        for name, value in _references(current):
            inner = _python_function(value)
            if inner is not None:
                waiting.append(inner)
            elif isinstance(value, _CONSTANTS):
                constants.add(f"{current.__module__}.{current.__qualname__} {name}={value!r}")
    parts = [_file_hash(path) for path in sorted(files)] + sorted(constants)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _package(function: Any) -> str:
    return str(function.__module__).partition(".")[0]


def _python_function(value: Any) -> Any:
    """Return the Python function behind a compiled function or an intrinsic, or None."""
    # numba's intrinsics keep theirs under this name
    inner = getattr(value, "py_func", None) or getattr(value, "_defn", value)
    return inner if isinstance(inner, types.FunctionType) else None


def _references(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the globals, the attributes of global modules and the closure of a function."""
    names = sorted(set(_names(function.__code__)))
    known = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [value for value in known if isinstance(value, types.ModuleType)]
    closure = inspect.getclosurevars(function).nonlocals
    for holder in [closure, function.__globals__, *map(vars, modules)]:
        for name in names:
            if name in holder:
                yield from _items(name, holder[name])


def _items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, tuple):
        yield name, value
        return
    for number, item in enumerate(value):
        yield from _items(f"{name}[{number}]", item)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


@cache
def _file_hash(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        # an interactive session, or a module inside an archive
        return path


if FunctionCache is not None:

    class _SourceCache(FunctionCache):  # type: ignore[misc]
        """Numba's cache of one function, with :func:`source_stamp` as a part of its keys."""

        @cached_property
        def _stamp(self) -> str:
            return source_stamp(self._py_func)

        def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
            # at the first call, when all functions of a module are defined
            return (*super()._index_key(sig, codegen), self._stamp)
