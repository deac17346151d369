"""The demo: nine synthetic graphs from homophily to heterophily, three models, one protocol."""

import dataclasses
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch_geometric.data import Data

from herofilter.callbacks import Callback, notify
from herofilter.config import Config
from herofilter.data import csbm
from herofilter.measures import edge_heterophily, node_heterophily
from herofilter.nn import HeroFilter
from herofilter.parallel.processes import run_jobs
from herofilter.training import prepare
from herofilter.training.recipe import train_split
from herofilter.training.split_metrics import spread

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MODELS = ("mlp", "gcn", "herofilter")
NUM_NODES = 500
NUM_SPLITS = 5
QUICK_LEVELS = (0.1, 0.9)
QUICK_NODES = 120


@dataclass(frozen=True)
class Level:
    """What the three models reached on the graph of one heterophily level.

    Args:
        heterophily: the level asked for.
        node_heterophily: the level that the graph has.
        edge_homophily: share of edges that join equal labels.
        patch_homophily: share of patch members with the node's label, after training.
        accuracy: per model ``mean``, ``std`` and ``values`` of test accuracy over splits.
    """

    heterophily: float
    node_heterophily: float
    edge_homophily: float
    patch_homophily: float
    accuracy: dict[str, dict[str, Any]]

    def holds(self) -> bool:
        """Whether HeroFilter is no worse than the better of the two, within a standard error."""
        rival = max((self.accuracy["mlp"], self.accuracy["gcn"]), key=lambda entry: entry["mean"])
        ours = self.accuracy["herofilter"]
        # of the difference of two means; rounding must not decide a tie
        slack = math.hypot(standard_error(rival), standard_error(ours)) + 1e-9
        return bool(ours["mean"] >= rival["mean"] - slack)


@dataclass(frozen=True)
class Task:
    """One model on the graph of one level, all splits."""

    heterophily: float
    model: str
    num_nodes: int
    num_splits: int
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What a task gave, with measures of its graph."""

    task: Task
    accuracy: list[float]
    node_heterophily: float
    edge_homophily: float
    patch_homophily: float


def demo_config(seed: int) -> Config:
    """Return the settings that all three models share: the recommended ones with less patience."""
    return Config().replace(seed=seed, patience=30)


def demo_graph(heterophily: float, num_nodes: int, num_splits: int, seed: int) -> Data:
    """Return a synthetic graph whose four classes form a ring.

    Class c links to its own members and to those of c ± 1. With uniform links, heterophily near
    1 - 1/C would carry no signal at all; on a ring of four, edges tell odd from even classes at
    high heterophily, and the features must tell the rest.
    """
    return csbm(
        num_nodes=num_nodes,
        num_classes=4,
        heterophily=heterophily,
        compatibility="cyclic",
        feature_signal=2.0,
        seed=seed,
        num_splits=num_splits,
    )


def run_task(task: Task) -> Outcome:
    """Train one model on all splits of one graph."""
    config = demo_config(task.seed)
    data = demo_graph(task.heterophily, task.num_nodes, task.num_splits, task.seed)
    prepared = prepare(data, config, task.model)
    accuracy, homophily = [], []
    for split in range(task.num_splits):
        model, result = train_split(prepared, task.model, config, split)
        accuracy.append(result.test.accuracy)
        if isinstance(model, HeroFilter):
            homophily.append(model.patches().homophily(data.y))
    return Outcome(
        task,
        accuracy,
        node_heterophily(data),
        1 - edge_heterophily(data),
        statistics.fmean(homophily) if homophily else math.nan,
    )


def run_demo(
    levels: Sequence[float] = LEVELS,
    num_nodes: int = NUM_NODES,
    num_splits: int = NUM_SPLITS,
    seed: int = 0,
    workers: int = 1,
    callback: Callback | None = None,
) -> dict[str, Any]:
    """Train an MLP, a GCN and HeroFilter on a synthetic graph per level of heterophily.

    Args:
        levels: the node heterophily of each graph.
        num_nodes: nodes per graph.
        num_splits: splits per graph.
        seed: of graphs and models.
        workers: processes; the result doesn't depend on their number.
        callback: takes an event of stage ``job`` after every task, named after it.

    Returns:
        ``levels`` (a list of :class:`Level` as dictionaries), ``config``, ``seconds``.
    """
    started = time.perf_counter()
    # the longest first, so that no worker is left alone with one at the end
    tasks = [
        Task(level, model, num_nodes, num_splits, seed)
        for model in reversed(MODELS)
        for level in levels
    ]
    found: dict[tuple[float, str], Outcome] = {}
    for outcome in run_jobs(run_task, tasks, workers):
        task = outcome.task
        found[task.heterophily, task.model] = outcome
        name = f"{task.model} at heterophily {task.heterophily:.1f}"
        notify(callback, "job", len(found), len(tasks), name)
    rows = []
    for level in levels:
        ours = found[level, "herofilter"]
        accuracy = {model: spread(found[level, model].accuracy) for model in MODELS}
        row = Level(
            level, ours.node_heterophily, ours.edge_homophily, ours.patch_homophily, accuracy
        )
        rows.append({**dataclasses.asdict(row), "holds": row.holds()})
    return {
        "levels": rows,
        "num_nodes": num_nodes,
        "num_splits": num_splits,
        "seed": seed,
        "config": demo_config(seed).to_dict(),
        "seconds": time.perf_counter() - started,
    }


def run_quick_demo(seed: int = 0, callback: Callback | None = None) -> dict[str, Any]:
    """Run the demo on two small graphs with one split each, to see that it works."""
    return run_demo(QUICK_LEVELS, QUICK_NODES, num_splits=1, seed=seed, callback=callback)


def standard_error(entry: dict[str, Any]) -> float:
    """Return the standard error of a mean over splits."""
    return float(entry["std"]) / math.sqrt(max(len(entry["values"]), 1))
