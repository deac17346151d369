"""The graphs of the filter study: the paper's small ones and three that are made for it."""

from typing import NamedTuple

import numpy as np
import torch
from torch_geometric.data import Data

from herofilter.data import csbm, load_dataset, random_splits
from herofilter.data.datasets.registry import REGISTRY

NUM_NODES = 600
NUM_CLASSES = 4
NUM_SPLITS = 3
MIXED_LEVELS = (0.1, 0.9)
MIXED_SIGNAL = 1.0
MIXED_ACROSS = 0.03


class StudyGraph(NamedTuple):
    """A graph of the study: its splits and why it is here."""

    splits: tuple[int, ...]
    why: str


_THREE = tuple(range(NUM_SPLITS))
_TEN = tuple(range(10))
GRAPHS = {
    "texas": StudyGraph(_TEN, "small and heterophilic"),
    "wisconsin": StudyGraph(_TEN, "small and heterophilic"),
    "cornell": StudyGraph(_TEN, "small and heterophilic"),
    "chameleon": StudyGraph(_TEN, "heterophilic, of high degree"),
    "squirrel": StudyGraph(_TEN, "heterophilic, of high degree"),
    "actor": StudyGraph(_TEN, "heterophilic, with edges that say little"),
    "cora": StudyGraph(_TEN, "homophilic"),
    "citeseer": StudyGraph(_TEN, "homophilic"),
    "pubmed": StudyGraph(_TEN, "homophilic, with few features"),
    "dense": StudyGraph(_THREE, "a small patch must choose among many unlike neighbours"),
    "noisy": StudyGraph(_THREE, "homophilic, with features that say little"),
    "mixed": StudyGraph(
        _THREE, "half homophilic and half heterophilic, so that no one filter suits all nodes"
    ),
}
SYNTHETIC: dict[str, dict[str, float]] = {
    "dense": {"heterophily": 0.9, "average_degree": 30.0, "feature_signal": 2.0},
    "noisy": {"heterophily": 0.2, "average_degree": 10.0, "feature_signal": 0.5},
}


def load_graph(name: str) -> Data:
    """Return a graph of the study, real or made, with the masks of all its splits."""
    if name == "mixed":
        return mixed_graph(0)
    if name not in SYNTHETIC:
        return load_dataset(name, split=None)
    values = SYNTHETIC[name]
    data = csbm(
        num_nodes=NUM_NODES,
        num_classes=NUM_CLASSES,
        compatibility="cyclic",
        heterophily=values["heterophily"],
        average_degree=values["average_degree"],
        feature_signal=values["feature_signal"],
        seed=0,
        num_splits=NUM_SPLITS,
    )
    data.name, data.variant = name, graph_variant(name)
    return data


def graph_variant(name: str) -> str:
    """Return in words which version of a graph the study uses."""
    made = f"synthetic, {NUM_NODES} nodes, {NUM_CLASSES} classes on a ring"
    if name == "mixed":
        levels = " and ".join(f"{level:g}" for level in MIXED_LEVELS)
        return (
            f"{made}, regions of heterophily {levels} of equal size, {MIXED_ACROSS:.0%} of edges "
            f"across, average degree 10 within, feature signal {MIXED_SIGNAL:g}, random 48/32/20"
        )
    if name not in SYNTHETIC:
        return REGISTRY[name].variant
    values = ", ".join(
        f"{key.replace('_', ' ')} {value:g}" for key, value in SYNTHETIC[name].items()
    )
    return f"{made}, {values}, random 48/32/20"


def mixed_graph(
    seed: int, num_nodes: int = NUM_NODES, num_splits: int = NUM_SPLITS, num_features: int = 32
) -> Data:
    """Return a graph of two regions, the first homophilic, the second heterophilic.

    Both have the same classes, on a ring, with the same means of features, so the features don't
    tell the regions apart. A few edges join nodes of one region with any of the other. Splits
    share out each class of each region separately.

    Example:
        >>> mixed_graph(0, num_nodes=120).train_mask.shape
        torch.Size([120, 3])
    """
    half = num_nodes // 2
    regions = [
        csbm(half, NUM_CLASSES, level, compatibility="cyclic", num_features=0, seed=2 * seed + side)
        for side, level in enumerate(MIXED_LEVELS)
    ]
    rng = np.random.default_rng(seed)
    inside = [region.edge_index + side * half for side, region in enumerate(regions)]
    links = sum(edges.size(1) for edges in inside) // 2
    count = round(links * MIXED_ACROSS / (1 - MIXED_ACROSS))
    # without replacement: no edge twice
    pair = torch.from_numpy(rng.choice(half * half, size=count, replace=False))
    across = torch.stack([pair // half, pair % half + half])
    y = torch.cat([region.y for region in regions])
    # four orthogonal means of length one, as in csbm
    means = np.linalg.qr(rng.standard_normal((num_features, NUM_CLASSES)))[0].T
    x = MIXED_SIGNAL * means[y.numpy()] + rng.standard_normal((2 * half, num_features))
    data = Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.cat([*inside, across, across.flip(0)], dim=1),
        y=y,
        num_nodes=2 * half,
    )
    group = y + NUM_CLASSES * (torch.arange(2 * half) >= half)
    data.train_mask, data.val_mask, data.test_mask = random_splits(group, num_splits, seed=seed)
    data.name, data.variant = "mixed", graph_variant("mixed")
    return data
