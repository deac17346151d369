"""The SHA-256 of raw files, from a list that ``sha256sum --check`` reads, too."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_LIST = Path(__file__).parent / "SHA256SUMS"


@cache
def known_sums() -> Mapping[str, str]:
    """Return the SHA-256 of each raw file that is known, by its path inside a data folder."""
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}
