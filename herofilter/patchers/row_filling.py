"""Rows of patches, filled chunk by chunk on several threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch

from herofilter.callbacks import Callback, notify

CHUNK = 512


def fill_rows(
    num_rows: int,
    patch_size: int,
    space: Callable[[], Any],
    fill: Callable[[slice, Any, Any, Any], None],
    callback: Callback | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return index and score, filled chunk by chunk on ``torch.get_num_threads()`` threads.

    Args:
        num_rows: how many rows there are.
        patch_size: their width.
        space: makes the scratch arrays of one thread.
        fill: given a slice of rows and such arrays, fills the rows' index and score.
        callback: takes a ``rows`` event after each chunk.
    """
    index = np.full((num_rows, patch_size), -1, dtype=np.int64)
    score = np.zeros((num_rows, patch_size), dtype=np.float32)
    # not numba's threads: those are killed by fork, and its fallback pool by concurrent callers
    threads = max(1, min(torch.get_num_threads(), -(-num_rows // CHUNK)))
    spaces: SimpleQueue[Any] = SimpleQueue()
    for _ in range(threads):
        spaces.put(space())

    def chunk(start: int) -> int:
        scratch = spaces.get()
        rows = slice(start, start + CHUNK)
        try:
            fill(rows, scratch, index[rows], score[rows])
        finally:
            spaces.put(scratch)
        return min(start + CHUNK, num_rows)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for done in pool.map(chunk, range(0, num_rows, CHUNK)):
                notify(callback, "rows", done, num_rows)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return index, score
