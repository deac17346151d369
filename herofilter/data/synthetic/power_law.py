"""Large graphs whose degrees follow a power law, with an exact number of edges."""

import math

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.splits import random_splits
from herofilter.errors import ConfigError

FRACTIONS = (0.50, 0.25, 0.25)
_CHUNK = 2**18
_ROUNDS = 8


def power_law_graph(
    num_nodes: int,
    num_edges: int,
    num_classes: int = 5,
    homophily: float = 0.5,
    num_features: int = 64,
    feature_signal: float = 1.0,
    exponent: float = 2.5,
    seed: int = 0,
) -> Data:
    r"""Sample a directed Chung-Lu graph with exactly ``num_edges`` edges in little memory.

    Both ends of an edge are sampled by the weights :math:`(i + i_0)^{-1/(\gamma - 1)}` of ranks
    :math:`i`, for which sampling has a closed form; :math:`i_0` keeps the largest expected degree
    at :math:`\sqrt{2m}`. No pair of nodes has two edges, in whatever direction, and none is a
    self-loop. Some nodes have no edges, as in real graphs. Classes are balanced, features are unit
    noise around class means, and half of the nodes are training nodes.

    Args:
        num_nodes: n, at least three per class.
        num_edges: m, at most a quarter of :math:`n (n - 1)`.
        num_classes: C.
        homophily: the share of edges whose ends are made to have the same class; the others have it
            by chance.
        num_features: 0 gives a graph without features.
        feature_signal: the length of class means.
        exponent: :math:`\gamma` of the degrees, above 2.
        seed: equal seeds give equal graphs.

    Example:
        >>> power_law_graph(300, 1000).edge_index.shape
        torch.Size([2, 1000])
    """
    _check(num_nodes, num_edges, num_classes, homophily, num_features, exponent)
    rng = np.random.default_rng(seed)
    sampler = _PairSampler(num_nodes, num_edges, num_classes, homophily, exponent, rng)
    keys = sampler.pairs()
    # ranks are sorted by weight; ids are shuffled, so that their order means nothing
    node_of = rng.permutation(num_nodes)
    y = np.empty(num_nodes, dtype=np.int64)
    y[node_of] = np.arange(num_nodes) % num_classes
    labels = torch.from_numpy(y)
    data = Data(edge_index=_edge_index(keys, node_of, rng), y=labels, num_nodes=num_nodes)
    if num_features:
        data.x = _features(y, num_classes, num_features, feature_signal, rng)
    masks = random_splits(labels, 1, FRACTIONS, seed)
    data.train_mask, data.val_mask, data.test_mask = (mask[:, 0] for mask in masks)
    data.name = "power-law"
    data.variant = f"Chung-Lu, {num_nodes} nodes, {num_edges} edges, seed {seed}"
    return data


class _PairSampler:
    """Samples pairs of ranks by weight until there are enough different ones."""

    def __init__(
        self,
        num_nodes: int,
        num_edges: int,
        num_classes: int,
        homophily: float,
        exponent: float,
        rng: np.random.Generator,
    ) -> None:
        self.n, self.m, self.rng = num_nodes, num_edges, rng
        self.num_classes, self.homophily = num_classes, homophily
        slope = 1 / (exponent - 1)
        self.power = 1 - slope
        degree = 2 * num_edges / num_nodes
        self.shift = num_nodes * (self.power * math.sqrt(degree / num_nodes)) ** (1 / slope)

    def pairs(self) -> np.ndarray:
        """Return ``lower * n + higher`` of m different pairs of ranks, in order."""
        keys = np.empty(0, dtype=np.int64)
        for attempt in range(64):
            missing = self.m - keys.size
            if missing <= 0:
                break
            # where hubs are full, sampling the last few pairs by weight would take long
            by_weight = attempt < _ROUNDS
            sampled = self._keys(missing + missing // 16 + 16, by_weight)
            keys = np.concatenate([keys, sampled])
            keys.sort()
            keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        surplus = keys.size - self.m
        if surplus > 0:
            keys = np.delete(keys, self.rng.choice(keys.size, surplus, replace=False))
        return keys

    def _keys(self, count: int, by_weight: bool) -> np.ndarray:
        source, target = (self._ranks(count, by_weight) for _ in range(2))
        alike = self.rng.random(count) < self.homophily
        # the class is the rank modulo C, so the nearest rank of a class weighs nearly the same
        step = np.where(alike, source % self.num_classes - target % self.num_classes, 0)
        target += step
        target[target >= self.n] -= self.num_classes
        keep = source != target
        source, target = source[keep], target[keep]
        key: np.ndarray = np.minimum(source, target) * self.n + np.maximum(source, target)
        return key

    def _ranks(self, count: int, by_weight: bool) -> np.ndarray:
        if not by_weight:
            return self.rng.integers(0, self.n, count)
        low, high = self.shift**self.power, (self.n + self.shift) ** self.power
        position = self.rng.random(count)
        position *= high - low
        position += low
        np.power(position, 1 / self.power, out=position)
        position -= self.shift
        return np.clip(position.astype(np.int64), 0, self.n - 1)


def _edge_index(keys: np.ndarray, node_of: np.ndarray, rng: np.random.Generator) -> Tensor:
    edge_index = np.empty((2, keys.size), dtype=np.int64)
    flip = rng.random(keys.size) < 0.5
    low, high = node_of[keys // node_of.size], node_of[keys % node_of.size]
    edge_index[0] = np.where(flip, high, low)
    edge_index[1] = np.where(flip, low, high)
    return torch.from_numpy(edge_index)


def _features(
    y: np.ndarray, num_classes: int, size: int, signal: float, rng: np.random.Generator
) -> Tensor:
    means = rng.standard_normal((num_classes, size), dtype=np.float32)
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    x = np.empty((y.size, size), dtype=np.float32)
    for start in range(0, y.size, _CHUNK):
        # in chunks: the means of all nodes at once would be as large as the features
        part = x[start : start + _CHUNK]
        rng.standard_normal(dtype=np.float32, out=part)
        part += means[y[start : start + _CHUNK]]
    return torch.from_numpy(x)


def _check(
    num_nodes: int,
    num_edges: int,
    num_classes: int,
    homophily: float,
    num_features: int,
    exponent: float,
) -> None:
    if num_classes < 2:
        raise ConfigError(f"num_classes must be at least 2 (got {num_classes})")
    if num_nodes < 3 * num_classes:
        raise ConfigError(
            f"num_nodes must be at least three per class (got {num_nodes} "
            f"for {num_classes} classes)"
        )
    most = num_nodes * (num_nodes - 1) // 4
    if not 1 <= num_edges <= most:
        raise ConfigError(
            f"num_edges must be between 1 and {most}, half of all pairs (got {num_edges}; "
            f"the graph has {num_nodes} nodes)"
        )
    if not 0 <= homophily <= 1:
        raise ConfigError(f"homophily must be between 0 and 1 (got {homophily:g})")
    if num_features < 0:
        raise ConfigError(f"num_features must be 0 or more (got {num_features})")
    if not 2 < exponent < math.inf:
        raise ConfigError(f"exponent must be above 2 (got {exponent:g})")
