"""What `herofilter patch` shows: a bar with the rate, and what came out."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.progress import Progress, TaskID

from herofilter.patchers import PatchStore
from herofilter.report.console import progress_bar

ROWS_AT_ONCE = 1 << 18


class PatchWatch:
    """Counts rows and seconds, and moves a bar.

    Args:
        bar: rich's progress.
        total: rows in all.
    """

    def __init__(self, bar: Progress, total: int) -> None:
        self.bar, self.total = bar, total
        self.task: TaskID = bar.add_task("preparing the graph", total=total)
        self.started = time.perf_counter()
        self.first: tuple[int, float] | None = None
        self.rows = 0

    def progress(self, done: int, total: int) -> None:
        """Take in how many rows are done, those of earlier sessions included."""
        now = time.perf_counter()
        if self.first is None:
            self.first = done, now
        start, since = self.first
        rate = (done - start) / (now - since) if now > since else 0.0
        self.rows = done
        self.bar.update(self.task, completed=done, description=f"{rate:,.0f} nodes per second")

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started


@contextmanager
def patch_progress(total: int) -> Iterator[PatchWatch]:
    """Show a bar while patches are made."""
    with progress_bar() as bar:
        yield PatchWatch(bar, total)


def patch_summary(store: PatchStore, watch: PatchWatch, memory: int) -> dict[str, Any]:
    """Return what a finished store holds, ready for JSON."""
    index, _, certified = store.map("r")
    full = sum(
        int((np.asarray(index[start : start + ROWS_AT_ONCE]) >= 0).all(axis=1).sum())
        for start in range(0, len(index), ROWS_AT_ONCE)
    )
    asked = bool(store.header["settings"]["refine"])
    return {
        "out": str(store.path),
        "num_nodes": len(index),
        "patch_size": store.header["patch_size"],
        "filled": full / max(len(index), 1),
        "certified": float(np.mean(certified)) if asked else None,
        "seconds": watch.seconds,
        "memory_estimate": memory,
        "settings": store.header["settings"],
    }


def patch_sentences(summary: dict[str, Any]) -> list[str]:
    """Return the summary in words."""
    lines = [
        f"{summary['num_nodes']:,} patches of {summary['patch_size']} nodes in "
        f"{summary['seconds']:.1f} s, {100 * summary['filled']:.1f} % of them full; "
        f"written to {summary['out']}"
    ]
    if summary["certified"] is not None:
        margin = summary["settings"]["margin"]
        lines.append(
            f"{100 * summary['certified']:.1f} % certified: no node left out exceeds the last one "
            f"chosen by more than {100 * margin:g} %"
        )
    return lines
