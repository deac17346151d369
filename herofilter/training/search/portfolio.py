"""A few different configurations for an unknown graph."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import is_directed
from herofilter.nn.build import choose_patcher


@dataclass(frozen=True)
class Member:
    """One configuration of a portfolio.

    Args:
        name: a short name, unique in its portfolio.
        model: a registered model.
        config: its settings, complete.
        why: which graphs it is there for.
    """

    name: str
    model: str
    config: Config
    why: str


@dataclass(frozen=True)
class _Row:
    """A line of the table: what a member changes in the base, and what it needs of the graph."""

    name: str
    why: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str = "herofilter"
    needs: str = ""


_TABLE = (
    _Row("balanced", "the recommended settings: both directions and the second hop of each"),
    _Row(
        "features",
        "edges that say nothing: a perceptron on the node's features",
        # with c=0 the diffusion stays at the node, so that there is nothing to search
        {
            "patcher": "fast",
            "c": 0.0,
            "ego": "first",
            "patch_size": 1,
            "relations": ("out",),
            "summary": False,
            "num_layers": 0,
            "aggregation": "sum",
            "head_layers": 2,
        },
    ),
    _Row(
        "homophilic",
        "neighbours that are mostly alike: a far diffusion, summed up without a mixer",
        {
            "patcher": "fast",
            "directed": "symmetrise",
            "relations": ("out",),
            "c": 0.8,
            "num_layers": 0,
            "aggregation": "sum",
        },
    ),
    _Row(
        "summaries",
        "few labels: the node beside one summary of each relation, and nothing to overfit",
        {
            "patcher": "fast",
            "patch_size": 1,
            "num_layers": 0,
            "aggregation": "slot_concat",
            "head_layers": 2,
            "weight_decay": 1e-2,
        },
    ),
    _Row(
        "smooth",
        "neighbours that are alike and features that are noise: averages over two hops",
        {"num_layers": 2, "weight_decay": 5e-4},
        model="gcn",
    ),
    _Row(
        "heterophilic",
        "neighbours of other classes: each relation is read on its own, with little decay",
        {
            "patcher": "fast",
            "patch_size": 17,
            "aggregation": "slot_concat",
            "weight_decay": 5e-4,
        },
    ),
    _Row(
        "high",
        "neighbours that differ where they matter: high frequencies beside low ones",
        {
            "directed": "symmetrise",
            "filter_starts": ("low", "high"),
            "self_loops": True,
            "norm": "patch",
            "weight_decay": 1e-2,
        },
        needs="filter",
    ),
    _Row(
        "undirected",
        "edges whose direction means nothing: the recommended settings without it",
        {"directed": "symmetrise"},
        needs="directions",
    ),
    _Row(
        "labels",
        "nodes without features: the training labels of the others in the patch",
        {"label_tokens": True, "patch_size": 33, "dropout": 0.2},
        needs="no features",
    ),
)


def portfolio(data: Data, base: Config | None = None) -> list[Member]:
    """Return about seven configurations that differ, each suited to a kind of graph.

    What a member names itself comes before ``base``; everything else (epochs, patience, seed,
    width, ...) is taken from it, and ``balanced`` is ``base`` itself. ``data`` is the graph as
    it was read, since a prepared one may have lost its directions: only a directed graph gets
    the member ``undirected``, only one whose filter is learned (up to 50 000 nodes) the member
    ``high``, and only one without features the member ``labels``. Patches never exceed the
    graph.

    Example:
        >>> from herofilter.data import csbm
        >>> [member.name for member in portfolio(csbm(num_nodes=100))]
        ['balanced', 'features', 'homophilic', 'summaries', 'smooth', 'heterophilic', 'high']
    """
    base = base or Config()
    has = {
        "": True,
        "filter": choose_patcher(data, base) in ("polynomial", "spectral"),
        "directions": is_directed(data),
        "no features": data.x is None,
    }
    return [
        Member(row.name, row.model, _suited(base, row.settings, data), row.why)
        for row in _TABLE
        if has[row.needs]
    ]


def _suited(base: Config, settings: Mapping[str, Any], data: Data) -> Config:
    config = base.replace(**settings)
    return config.replace(patch_size=min(config.patcher.patch_size, int(data.num_nodes or 0)))
