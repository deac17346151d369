"""The output of `herofilter patch`: a progress bar with the rate, and a summary."""

import time
from typing import Any

import numpy as np
from rich.progress import Progress

from herofilter.callbacks import Event
from herofilter.patchers import PatchStore
from herofilter.report.progress import ProgressBar

ROWS_AT_ONCE = 1 << 18


class PatchBar(ProgressBar):
    """A bar that counts rows and seconds, and shows the rate.

    Args:
        total: the number of rows.
        progress: rich's progress; on the error stream by default.
    """

    def __init__(self, total: int, progress: Progress | None = None) -> None:
        super().__init__("preparing the graph", total, progress)
        self.started = time.perf_counter()
        self.first: tuple[int, float] | None = None

    def __call__(self, event: Event) -> None:
        """Show how many rows are done, those of earlier runs included."""
        now = time.perf_counter()
        if self.first is None:
            self.first = event.done, now
        start, since = self.first
        rate = (event.done - start) / (now - since) if now > since else 0.0
        description = f"{rate:,.0f} nodes per second"
        self.progress.update(self.task, completed=event.done, description=description)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started


def patch_summary(store: PatchStore, bar: PatchBar, memory: int) -> dict[str, Any]:
    """Return a summary of a finished store, ready for JSON."""
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
        "seconds": bar.seconds,
        "memory_estimate": memory,
        "settings": store.header["settings"],
    }


def patch_sentences(summary: dict[str, Any]) -> list[str]:
    """Return the summary as sentences."""
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
