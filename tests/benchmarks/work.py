"""Work for child processes; it imports little, since every child imports it."""

import os


def double(value: int) -> int:
    return 2 * value


def large(count: int) -> bytes:
    return bytes(count)


def refuse() -> None:
    from herofilter.errors import ConfigError

    raise ConfigError("p must be even (got 3)")


def fail(message: str) -> None:
    raise ValueError(message)


def take(count: int) -> int:
    return len(bytearray(count))


def die(signal_number: int) -> None:
    os.kill(os.getpid(), signal_number)


def variables() -> tuple[str | None, ...]:
    return tuple(os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"))
