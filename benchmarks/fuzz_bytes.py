"""Damage to bytes and values, drawn from a seeded generator."""

import random
from typing import Any

_TOKENS = (
    *(b"", b"\x00", b"\xff\xfe", b"\n", b",", b'"', b";", b"NaN", b"-inf", b"1e999", b"null"),
    *(b"[" * 3000, b"{" * 40, b"9" * 5000, b"2000000000", b"-1", b"\xf0\x9f\x98\x80", b"\\ud800"),
    *(b"=1+1", b"\x1b[2J", b"[/]", b"../../x", b"true", b"id", b"a" * 5000),
)


def damage(content: bytes, draw: random.Random) -> bytes:
    """Return bytes with a few changes: flipped, cut, repeated, replaced or inserted."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(found) + 1)
        end = min(len(found), at + draw.choice((1, 1, 2, 8, 64, 1024)))
        kind = draw.randrange(6)
        if kind == 0 and found:
            found[min(at, len(found) - 1)] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del found[at:end]
        elif kind == 2:
            found[at:at] = found[at:end]
        elif kind == 3:
            found[at:end] = draw.choice(_TOKENS)
        elif kind == 4:
            found[at:at] = draw.choice(_TOKENS)
        else:
            found[at:end] = draw.randbytes(end - at)
        if draw.random() < 0.02:
            found = found[:at]
    return bytes(found)


def any_value(draw: random.Random, depth: int = 0) -> Any:
    """Return a value that JSON has, often an extreme one."""
    if depth < 3 and draw.random() < 0.25:
        some = [any_value(draw, depth + 1) for _ in range(draw.randrange(4))]
        return some if draw.random() < 0.5 else {str(any_value(draw, 3)): each for each in some}
    return draw.choice(
        (
            *(None, True, False, 0, 1, -1, 2, 7, 0.5, -0.0, 1e308, 5e-324, 2**31, 2**63, -(2**63)),
            *(10**30, 0.999999999, 1e9, 10**6, "", "NA", "auto", "user:1", "user:2", "a,b", "\x00"),
            *("x" * 5000, "🙂", "=cmd()", "[/]", "1e400", "nan", "2020-99-99", draw.random()),
        )
    )


def changed(value: Any, draw: random.Random) -> Any:
    """Return a structure of JSON with one part replaced, taken out or added."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        if draw.random() < 0.1:
            return {other: each for other, each in value.items() if other != key}
        return {**value, key: changed(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.8:
        at = draw.randrange(len(value))
        return [*value[:at], changed(value[at], draw), *value[at + draw.randrange(2) :]]
    return any_value(draw)
