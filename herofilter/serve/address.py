"""Where the service listens; nothing here loads torch or the web framework."""

import ipaddress
import socket
from importlib.util import find_spec

from herofilter.errors import ConfigError, MissingExtraError

LAST_PORT = 65535


def check_extra() -> None:
    """Raise a :class:`MissingExtraError` unless the web framework and its server are installed."""
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn")):
        raise MissingExtraError("serve", "serving a model")


def bind_address(host: str, port: int) -> socket.socket:
    """Return a socket that has an address but doesn't listen yet.

    A client that comes before the model is loaded is refused and doesn't wait.

    Args:
        host: a name or an address of this machine.
        port: 0 takes any that is free.
    """
    if not 0 <= port <= LAST_PORT:
        raise ConfigError(f"port must be from 0 to {LAST_PORT} (got {port})")
    try:
        (family, kind, _, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"host must be a name or an address of this machine (got {host!r}: {_reason(error)})"
        ) from error
    found = socket.socket(family, kind)
    try:
        # a service that was stopped a moment ago doesn't block its port
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        found.close()
        raise ConfigError(
            f"the address {host}:{port} must be free and of this machine ({_reason(error)}); "
            "name another with --host and --port"
        ) from error
    return found


def is_loopback(bound: socket.socket) -> bool:
    """Return whether only programs of this machine can reach a socket."""
    return ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback


def shown_url(bound: socket.socket) -> str:
    """Return the address of a socket as a browser takes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _reason(error: OSError | UnicodeError) -> str:
    return getattr(error, "strerror", None) or "it isn't a host name"
