"""The demo: nine synthetic graphs from homophily to heterophily, three models, one protocol."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from herofilter.analysis import edge_heterophily, node_heterophily
from herofilter.config import Config
from herofilter.data import csbm
from herofilter.nn import HeroFilter
from herofilter.training import prepare
from herofilter.training.protocol import spread, train_split

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MODELS = ("mlp", "gcn", "herofilter")
NUM_SPLITS = 5


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
        slack = max(standard_error(rival), standard_error(self.accuracy["herofilter"]))
        return bool(self.accuracy["herofilter"]["mean"] >= rival["mean"] - slack)


def demo_config() -> Config:
    """Return the settings of all three models in the demo."""
    return Config()


def run_demo(
    levels: Sequence[float] = LEVELS,
    num_nodes: int = 1000,
    num_splits: int = NUM_SPLITS,
    seed: int = 0,
    on_step: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """Train an MLP, a GCN and HeroFilter on a synthetic graph per level of heterophily.

    Class c links to its neighbours on a ring of classes: with uniform links, heterophily near
    1 - 1/C would carry no signal at all.

    Args:
        levels: the node heterophily of each graph.
        num_nodes: nodes per graph.
        num_splits: splits per graph.
        seed: of graphs and models.
        on_step: called with trainings done, trainings in all, and what comes next.

    Returns:
        ``levels`` (a list of :class:`Level` as dictionaries), ``config``, ``seconds``.
    """
    started = time.perf_counter()
    config = demo_config().replace(seed=seed)
    total = len(levels) * len(MODELS) * num_splits
    rows: list[Level] = []
    for heterophily in levels:
        data = csbm(
            num_nodes=num_nodes,
            heterophily=heterophily,
            compatibility="cyclic",
            feature_signal=1.5,
            seed=seed,
            num_splits=num_splits,
        )
        prepared = prepare(data, config)
        accuracy: dict[str, dict[str, Any]] = {}
        homophily: list[float] = []
        for name in MODELS:
            values = []
            for split in range(num_splits):
                if on_step is not None:
                    done = (len(rows) * len(MODELS) + len(accuracy)) * num_splits + split
                    on_step(done, total, f"heterophily {heterophily:.1f}: {name}")
                model, result = train_split(prepared, name, config, split)
                values.append(result.test.accuracy)
                if isinstance(model, HeroFilter):
                    homophily.append(model.patches().homophily(data.y))
            accuracy[name] = spread(values)
        rows.append(
            Level(
                heterophily,
                node_heterophily(data),
                1 - edge_heterophily(data),
                statistics.fmean(homophily),
                accuracy,
            )
        )
    if on_step is not None:
        on_step(total, total, "done")
    return {
        "levels": [{**dataclasses.asdict(row), "holds": row.holds()} for row in rows],
        "num_nodes": num_nodes,
        "num_splits": num_splits,
        "config": config.to_dict(),
        "seconds": time.perf_counter() - started,
    }


def standard_error(entry: dict[str, Any]) -> float:
    """Return the standard error of a mean over splits."""
    return float(entry["std"]) / max(len(entry["values"]), 1) ** 0.5
