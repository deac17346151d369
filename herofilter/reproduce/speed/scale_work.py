"""The stages of the scalability figure, each measured in a separate process."""

import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from herofilter import (
    FastPatcher,
    HeroFilter,
    ModelConfig,
    Patches,
    TrainConfig,
    predict_logits,
    train,
)
from herofilter.callbacks import Event
from herofilter.data.synthetic.power_law import power_law_graph
from herofilter.reproduce.speed.child import peak_gib
from herofilter.reproduce.speed.timing import repeated
from herofilter.training.seeding import seeded

# snap-patents
PATENTS_NODES, PATENTS_EDGES = 2_923_922, 13_975_788
STAGES = ("patcher", "epoch", "inference")
HIDDEN = 64
# seconds of each repetition, GiB before them, and the peak
Measured = tuple[list[float], float, float]
_ARRAYS = ("edge_index", "x", "y", "train_mask", "val_mask", "test_mask")


@dataclass(frozen=True)
class Graph:
    """The size and the seed of a power-law graph."""

    nodes: int
    edges: int
    seed: int = 0

    @classmethod
    def of_size(cls, nodes: int, seed: int = 0) -> "Graph":
        """Return a graph with the average degree of snap-patents.

        Example:
            >>> Graph.of_size(1000).edges
            4780
        """
        return cls(nodes, round(nodes * PATENTS_EDGES / PATENTS_NODES), seed)

    @property
    def stem(self) -> str:
        """A name for its files."""
        return f"{self.nodes}-{self.edges}-{self.seed}"

    def data_path(self, folder: Path) -> Path:
        """Return the file of the graph."""
        return folder / f"{self.stem}.npz"

    def patches_path(self, folder: Path, patch_size: int) -> Path:
        """Return the file of its patches."""
        return folder / f"{self.stem}-patches-{patch_size}.npz"


def make_graph(graph: Graph, folder: Path) -> None:
    """Generate a graph and write it, so that no measurement has to generate it."""
    data = power_law_graph(graph.nodes, graph.edges, seed=graph.seed)
    with graph.data_path(folder).open("wb") as file:
        np.savez(file, **{name: data[name].numpy() for name in _ARRAYS})


def read_graph(graph: Graph, folder: Path) -> Data:
    """Read what :func:`make_graph` wrote."""
    with np.load(graph.data_path(folder)) as arrays:
        tensors = {name: torch.from_numpy(arrays[name]) for name in _ARRAYS}
    return Data(**tensors, num_nodes=graph.nodes)


def measure(graph: Graph, stage: str, patch_size: int, folder: Path) -> dict[str, Any]:
    """Measure one stage and return the line that is kept of it."""
    work = {"patcher": _patcher, "epoch": _epoch, "inference": _inference}[stage]
    times, before, peak = work(graph, patch_size, folder)
    return {
        **asdict(graph),
        "stage": stage,
        "patch_size": patch_size,
        "seconds": statistics.median(times),
        "repetitions": len(times),
        "peak_gib": peak,
        "loaded_gib": before,
        "threads": torch.get_num_threads(),
    }


def _patcher(graph: Graph, patch_size: int, folder: Path) -> Measured:
    data, patcher = read_graph(graph, folder), FastPatcher(patch_size=patch_size)
    # compiled code is loaded at the first call, whatever the size of the graph
    patcher(data, torch.arange(1))
    before = peak_gib()
    kept: list[Patches] = []

    def run() -> None:
        kept.clear()
        kept.append(patcher(data))

    times = repeated(run)
    peak = peak_gib()
    # after the peak is read: writing makes a copy that isn't the patcher's
    kept[0].save(graph.patches_path(folder, patch_size))
    return times, before, peak


def _epoch(graph: Graph, patch_size: int, folder: Path) -> Measured:
    data, model = _model(graph, patch_size, folder)
    before = peak_gib()
    marks: list[float] = []

    def mark(event: Event) -> None:
        marks.append(time.perf_counter())

    # the first epoch warms up; small graphs have several more, of which the median counts
    count = 2 if graph.nodes > 100_000 else 6
    train(model, data, TrainConfig(epochs=count, patience=count), mark, score_test=False)
    return np.diff(marks).tolist(), before, peak_gib()


def _inference(graph: Graph, patch_size: int, folder: Path) -> Measured:
    data, model = _model(graph, patch_size, folder)
    before = peak_gib()
    predict_logits(model, data, torch.arange(min(graph.nodes, 100)))
    times = repeated(lambda: predict_logits(model, data))
    return times, before, peak_gib()


def _model(graph: Graph, patch_size: int, folder: Path) -> tuple[Data, HeroFilter]:
    data = read_graph(graph, folder)
    patches = Patches.load(graph.patches_path(folder, patch_size))
    classes = int(data.y.max()) + 1
    config = ModelConfig(hidden_channels=HIDDEN)
    with seeded(graph.seed):
        return data, HeroFilter(data.num_features, classes, patches, config)
