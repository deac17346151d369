"""The device that a setting names, and its random numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from herofilter.errors import ConfigError, check_choice
from herofilter.settings import DEVICES

CPU = torch.device("cpu")


def available_devices() -> tuple[str, ...]:
    """Return the devices that are here, the one that ``auto`` takes first.

    Example:
        >>> available_devices()[-1]
        'cpu'
    """
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return (*(name for name, there in here.items() if there), "cpu")


def find_device(name: str) -> torch.device:
    """Return the device of a setting; ``auto`` is cuda, then mps, then cpu.

    Example:
        >>> find_device("cpu")
        device(type='cpu')
    """
    check_choice("device", name, DEVICES)
    here = available_devices()
    if name == "auto":
        name = here[0]
    if name not in here:
        raise ConfigError(
            f"device must be one that is here, {' or '.join(here)} (got {name}); set device=auto "
            "for the best of them"
        )
    # with its index, as tensors on it have it
    return CPU if name == "cpu" else torch.empty(0, device=name).device


def generator_on(device: torch.device, seed: int) -> torch.Generator:
    """Return a new generator of random numbers on a device."""
    return torch.Generator(device=device).manual_seed(seed)


@contextmanager
def forked_random_state(device: torch.device) -> Iterator[None]:
    """Put torch's global random states, that of the CPU and of a device, back afterwards."""
    if device.type == "cpu":
        with torch.random.fork_rng(devices=[]):
            yield
        return
    with torch.random.fork_rng(devices=[device.index or 0], device_type=device.type):
        yield


def random_state(device: torch.device) -> torch.Tensor:
    """Return torch's global random state of a device, as a tensor on the CPU."""
    if device.type == "cpu":
        return torch.get_rng_state()
    module: Any = getattr(torch, device.type)
    state: torch.Tensor = module.get_rng_state(device.index or 0)
    return state.cpu()


def set_random_state(device: torch.device, state: torch.Tensor) -> None:
    """Set what :func:`random_state` returned."""
    if device.type == "cpu":
        torch.set_rng_state(state)
        return
    module: Any = getattr(torch, device.type)
    module.set_rng_state(state, device.index or 0)
