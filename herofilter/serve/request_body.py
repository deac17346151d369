"""A request's body, read within limits of size and time."""

import asyncio

from fastapi import Request

from herofilter.serve.bodies import RequestError

MOST_SECONDS = 30.0
# what is read of a body that is too large, so that its sender gets to see the answer
_DRAINED = 64 * 2**20


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Return the body, or raise a :class:`RequestError`; no more than ``max_bytes`` are held."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        # a page of another site can't send this type unasked, only forms and plain text
        raise RequestError(
            415, f"the Content-Type must be application/json (got {kind[:60] or 'none'})"
        )
    pieces, size = [], 0
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                if size <= max_bytes:
                    pieces.append(piece)
                    continue
                pieces.clear()
                if size > max_bytes + _DRAINED:
                    break
    except TimeoutError:
        raise RequestError(
            408, f"the body must arrive within {MOST_SECONDS:.0f} s (got {size} bytes of it)"
        ) from None
    if size > max_bytes:
        raise RequestError(
            413, f"the body must have at most {max_bytes} bytes (got more); send several requests"
        )
    return b"".join(pieces)
