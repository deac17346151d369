"""Graphs whose columns say little and whose known neighbours say much, as many real tables have."""

import math

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.splits import random_splits
from herofilter.errors import ConfigError


def weak_features_graph(
    num_nodes: int = 11_758,
    num_features: int = 10,
    average_degree: float = 30.0,
    minority: float = 0.22,
    feature_signal: float = 1.0,
    label_spread: float = 1.5,
    mixing: float = 0.3,
    num_groups: int = 120,
    seed: int = 0,
    num_splits: int = 10,
) -> Data:
    r"""Sample a graph of two unequal classes in which neighbours' labels tell more than columns.

    Nodes live in groups of unequal size, each with a tendency :math:`\tau_g` from a normal
    distribution of deviation ``label_spread``; the nodes with the largest :math:`\tau_g +
    \epsilon_v`, with logistic noise :math:`\epsilon_v` of its own for each node, are the minority.
    Edges mostly stay in a group, so the share of minority nodes among a node's neighbours estimates
    its tendency. Columns are normal noise plus a weak trace of :math:`\epsilon_v`, every other one
    passed through the exponential function. They say nothing of the tendency, so that the columns
    of neighbours tell little, and their labels much. Degrees are uneven; some nodes may have no
    edges.

    Args:
        num_nodes: n, at least 50.
        num_features: f, at least 1.
        average_degree: neighbours per node, about.
        minority: the share of class 1; class 0 has the others.
        feature_signal: the length of the trace, in deviations of the noise.
        label_spread: how much groups differ in their tendency; 0 makes edges say nothing.
        mixing: the share of edges whose second end is any node.
        num_groups: the number of groups.
        seed: equal seeds give equal graphs.
        num_splits: random splits 48/32/20.

    Example:
        >>> data = weak_features_graph(num_nodes=1000)
        >>> data.x.shape, int(data.y.sum())
        (torch.Size([1000, 10]), 220)
    """
    _check(num_nodes, num_features, average_degree, minority, mixing, num_groups)
    rng = np.random.default_rng(seed)
    # sorted, so that a group is a range of ranks
    group = np.sort(_by_weight(rng.lognormal(sigma=0.5, size=num_groups), num_nodes, rng))
    tendency = label_spread * rng.standard_normal(num_groups)[group]
    own = rng.logistic(size=num_nodes)
    order = np.argsort(-(tendency + own), kind="stable")
    y = np.zeros(num_nodes, dtype=np.int64)
    y[order[: max(3, round(minority * num_nodes))]] = 1
    source, target = _pairs(group, round(num_nodes * average_degree / 2), mixing, rng)
    # the order of ids means nothing
    node_of = rng.permutation(num_nodes)
    rank_of = np.argsort(node_of)
    labels = torch.from_numpy(y[rank_of])
    data = Data(
        x=_features(own[rank_of], num_features, feature_signal, rng),
        edge_index=_edge_index(node_of[source], node_of[target], num_nodes),
        y=labels,
        num_nodes=num_nodes,
    )
    data.train_mask, data.val_mask, data.test_mask = random_splits(labels, num_splits, seed=seed)
    data.name = "weak-features"
    data.variant = f"weak features, {num_nodes} nodes, seed {seed}, random 48/32/20"
    return data


def _by_weight(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    drawn: np.ndarray = rng.choice(weights.size, count, p=weights / weights.sum())
    return drawn


def _pairs(
    group: np.ndarray, count: int, mixing: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    n = group.size
    total = np.concatenate([[0.0], np.cumsum(rng.lognormal(sigma=0.7, size=n))])
    # the weights of a group are an interval of their running sum
    low = total[np.searchsorted(group, group, side="left")]
    high = total[np.searchsorted(group, group, side="right")]
    source = _rank(total, rng.random(count) * total[-1])
    anywhere = rng.random(count) < mixing
    start = np.where(anywhere, 0.0, low[source])
    end = np.where(anywhere, total[-1], high[source])
    return source, _rank(total, start + rng.random(count) * (end - start))


def _rank(total: np.ndarray, position: np.ndarray) -> np.ndarray:
    found = np.searchsorted(total, position, side="right") - 1
    inside: np.ndarray = np.clip(found, 0, total.size - 2)
    return inside


def _edge_index(source: np.ndarray, target: np.ndarray, num_nodes: int) -> Tensor:
    keep = source != target
    source, target = source[keep], target[keep]
    keys = np.unique(np.concatenate([source * num_nodes + target, target * num_nodes + source]))
    return torch.from_numpy(np.stack([keys // num_nodes, keys % num_nodes]))


def _features(own: np.ndarray, size: int, signal: float, rng: np.random.Generator) -> Tensor:
    direction = rng.standard_normal(size)
    direction *= signal / np.linalg.norm(direction)
    x = rng.standard_normal((own.size, size)) + np.outer(own / own.std(), direction)
    x[:, 1::2] = np.exp(x[:, 1::2])
    return torch.from_numpy(x.astype(np.float32))


def _check(
    num_nodes: int,
    num_features: int,
    average_degree: float,
    minority: float,
    mixing: float,
    num_groups: int,
) -> None:
    if num_nodes < 50:
        raise ConfigError(f"num_nodes must be at least 50 (got {num_nodes})")
    for name, value in (("num_features", num_features), ("num_groups", num_groups)):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1 (got {value})")
    if not 0 < average_degree < num_nodes / 4 or not math.isfinite(average_degree):
        raise ConfigError(
            f"average_degree must be above 0 and below a quarter of the {num_nodes} nodes "
            f"(got {average_degree:g})"
        )
    if not 0 < minority <= 0.5:
        raise ConfigError(f"minority must be above 0 and at most 0.5 (got {minority:g})")
    if not 0 <= mixing <= 1:
        raise ConfigError(f"mixing must be between 0 and 1 (got {mixing:g})")
