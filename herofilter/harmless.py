"""Foreign texts, such as ids from a table, made harmless for a terminal."""

# letters that turn the direction of what follows
_TURNS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {
    # the Unicode pictures of control characters
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: "\u2421",
    **dict.fromkeys((*range(0x80, 0xA0), *_TURNS), "\ufffd"),
}


def harmless(text: str) -> str:
    r"""Return a text in which control characters are visible and do nothing to a terminal.

    Example:
        >>> harmless("a\x1b[2Jb")
        'a␛[2Jb'
    """
    return text.translate(_SHOWN)
