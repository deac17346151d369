"""A pretended accelerator: tensors that say they are elsewhere, and refuse silent copies.

A tensor on it holds one in main memory and computes with that. What a real accelerator refuses it
refuses too: an operation that mixes its tensors with those of the CPU, NumPy arrays of them,
a generator of the CPU; and double precision and sparse tensors, which Apple's devices lack. It is
stricter in one point: an assignment doesn't copy from the CPU, only ``to`` and ``copy_`` do.
"""

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._pytree import tree_flatten, tree_map

NAME = "pretend"
aten = torch.ops.aten
_state = threading.local()
# seeds of the device's generators begin here: an operation gets a copy of the Python object
_MARK = 2**62
_library: list[Any] = []


class PretendTensor(Tensor):
    """A tensor on the pretended device."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "PretendTensor":
        if held.dtype == torch.float64:
            raise TypeError("the pretended device has no double precision")
        if held.layout != torch.strided:
            raise TypeError("the pretended device has no sparse tensors")
        made = Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
        )
        made.held = held
        return made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        before = getattr(_state, "assigns", False)
        _state.assigns = before or func is Tensor.__setitem__
        try:
            # results have the class that they have: a copy on the CPU is a plain tensor
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        finally:
            _state.assigns = before

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})

    def tolist(self) -> Any:
        # torch has none for subclasses; on a real accelerator it copies by itself
        return self.held.tolist()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"pretend({self.held!r})"


def _run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target = kwargs.get("device")
    if func is aten._to_copy.default:
        return _copied(args[0], kwargs)
    if func is aten.copy_.default and isinstance(args[0], PretendTensor) is not isinstance(
        args[1], PretendTensor
    ):
        return _copy_across(*args[:2])
    _check(func, args, kwargs)
    if target is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    found = func(*_unwrapped(args), **_unwrapped(kwargs))
    return _same_or_wrapped(func, args, kwargs, found)


def _copied(source: Tensor, kwargs: dict[str, Any]) -> Tensor:
    target = torch.device(kwargs.get("device") or source.device)
    held = source.held if isinstance(source, PretendTensor) else source
    kind = kwargs.get("dtype") or held.dtype
    made = held.to(kind, copy=True)
    return PretendTensor(made) if target.type == NAME else made


def _copy_across(target: Tensor, source: Tensor) -> Tensor:
    if getattr(_state, "assigns", False) and source.dim():
        raise RuntimeError("an assignment must not copy between the devices")
    _unwrapped(target).copy_(_unwrapped(source))
    return target


def _check(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    given = tree_flatten((args, kwargs))[0]
    tensors = [one for one in given if isinstance(one, Tensor)]
    # as on a real accelerator, a number may be a tensor of the CPU
    foreign = [one for one in tensors if not isinstance(one, PretendTensor) and one.dim()]
    if foreign and len(foreign) < len(tensors):
        raise RuntimeError(f"{func} must have all tensors on one device, got {foreign[0].shape}")
    for one in given:
        if isinstance(one, torch.Generator) and one.initial_seed() < _MARK:
            raise RuntimeError(f"{func} must have a generator of the pretended device")


def _unwrapped(values: Any) -> Any:
    return tree_map(lambda one: one.held if isinstance(one, PretendTensor) else one, values)


def _same_or_wrapped(func: Any, args: Any, kwargs: Any, found: Any) -> Any:
    """Return results as tensors of the device; what was written in place is what was given."""
    given = {
        id(one.held): one
        for one in tree_flatten((args, kwargs))[0]
        if isinstance(one, PretendTensor)
    }
    if func._schema.is_mutable:
        return tree_map(lambda one: given.get(id(one), one) if _is(one) else one, found)
    return tree_map(lambda one: PretendTensor(one) if _is(one) else one, found)


def _is(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, PretendTensor)


_FACTORIES = (
    "empty.memory_format",
    "empty_strided",
    "arange",
    "arange.start",
    "arange.start_step",
    "eye",
    "eye.m",
    "full",
    "ones",
    "zeros",
    "rand",
    "rand.generator",
    "randn",
    "randn.generator",
    "randint",
    "randint.generator",
    "randint.low",
    "randint.low_generator",
    "randperm",
    "randperm.generator",
    "linspace",
    "scalar_tensor",
)


def _factory(name: str) -> Callable[..., Tensor]:
    packet, _, overload = name.partition(".")
    func = getattr(getattr(aten, packet), overload or "default")

    def make(*args: Any, **kwargs: Any) -> Tensor:
        _check(func, args, kwargs)
        kwargs["device"] = torch.device("cpu")
        found: Tensor = func(*_unwrapped(args), **_unwrapped(kwargs))
        return PretendTensor(found)

    return make


def _copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    return _copy_across(target, source)


class _Module(backend_registration._DummyBackendModule):
    """What ``torch.pretend`` has."""

    def get_rng_state(self, device: Any = 0) -> Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: Tensor, device: Any = 0) -> None:
        """Nothing: layers draw from the CPU's generator, whose state is put back anyway."""


def pretend_device() -> torch.device:
    """Return the pretended device, registered at the first call in a process."""
    if not _library:
        backend_registration._setup_privateuseone_for_python_backend(NAME, _Module())
        library = torch.library.Library("aten", "IMPL")
        for name in _FACTORIES:
            library.impl(name, _factory(name), "PrivateUse1")
        # torch.tensor(values, device=…) copies below the Python key
        library.impl("_copy_from", _copy_from, "PrivateUse1")
        _library.append(library)
    return torch.device(NAME, 0)


def pretend_generator(device: torch.device, seed: int) -> torch.Generator:
    """Return a generator that the pretended device takes."""
    return torch.Generator().manual_seed(_MARK + seed)
