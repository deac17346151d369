"""The time that a search may take, as a user writes it."""

import re

from herofilter.errors import ConfigError

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_budget(text: str) -> float:
    """Return the seconds in a text such as ``90s``, ``30m``, ``2h`` or ``90``.

    Example:
        >>> parse_budget("30m"), parse_budget("1.5h")
        (1800.0, 5400.0)
    """
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([smh]?)\s*", text)
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise ConfigError(f"a budget must be a time such as 90s, 30m or 2h (got {text!r})")
    return seconds
