"""The edges of a block model: pairs of nodes with a given mean node heterophily."""

import math
from dataclasses import dataclass

import numpy as np

_TOLERANCE = 0.004
_ATTEMPTS = 8
_RETRIES = 6


def block_edges(
    y: np.ndarray,
    heterophily: float,
    average_degree: float,
    *,
    cyclic: bool,
    power_law: float | None,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and partners of about ``n * average_degree / 2`` different pairs.

    Pairs that repeat earlier ones are sampled again a few times and then left out, so classes
    that are nearly full end up with slightly fewer edges.
    """
    weights = _weights(y.size, average_degree, power_law, rng)
    pool = _Pool.make(y, int(y.max()) + 1, weights)
    return _sample(pool, y, heterophily, round(y.size * average_degree / 2), cyclic, rng)


@dataclass(frozen=True)
class _Pool:
    """Nodes sorted by class, so that a partner of a class is sampled from one range."""

    nodes: np.ndarray
    start: np.ndarray
    ends: np.ndarray | None

    @classmethod
    def make(cls, y: np.ndarray, num_classes: int, weights: np.ndarray | None) -> "_Pool":
        nodes = np.argsort(y, kind="stable")
        start = np.searchsorted(y[nodes], np.arange(num_classes + 1))
        if weights is None:
            return cls(nodes, start, None)
        ends = np.concatenate([[0.0], np.cumsum(weights[nodes])])
        return cls(nodes, start, ends)

    def partners(self, of: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample one node of each class in ``of``, by weight if there are weights."""
        low, high = self.start[of], self.start[of + 1]
        share = rng.random(of.size)
        if self.ends is None:
            index = low + (share * (high - low)).astype(np.int64)
        else:
            mass = self.ends[low] + share * (self.ends[high] - self.ends[low])
            index = np.searchsorted(self.ends, mass, side="right") - 1
        partner: np.ndarray = self.nodes[np.clip(index, low, high - 1)]
        return partner

    def sources(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return every node, so that none stays isolated, and further ones sampled by weight."""
        num_nodes = self.nodes.size
        if self.ends is None:
            rounds, rest = divmod(count, num_nodes)
            extra = rng.permutation(num_nodes)[:rest]
            return np.concatenate([np.tile(np.arange(num_nodes), rounds), extra])
        # sorted, because the search below is then several times faster
        mass = np.sort(rng.random(count - num_nodes)) * self.ends[-1]
        sampled = np.clip(np.searchsorted(self.ends, mass, side="right") - 1, 0, num_nodes - 1)
        return np.concatenate([np.arange(num_nodes), self.nodes[sampled]])


def _sample(
    pool: _Pool, y: np.ndarray, target: float, count: int, cyclic: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Sample edges until their mean node heterophily is near ``target``; keep the nearest."""
    share, nearest = target, math.inf
    best = (np.empty(0, np.int64), np.empty(0, np.int64))
    for _ in range(_ATTEMPTS):
        source = pool.sources(count, rng)
        # an exact number of heterophilous edges: a coin per edge would miss on small graphs
        other = np.zeros(count, dtype=bool)
        other[: round(share * count)] = True
        rng.shuffle(other)
        edges = _pairs(pool, y, source, other, cyclic, rng)
        measured = _node_heterophily(y, *edges)
        if abs(measured - target) < nearest:
            nearest, best = abs(measured - target), edges
        if nearest <= _TOLERANCE:
            break
        share = min(max(share + target - measured, 0.0), 1.0)
    return best


def _pairs(
    pool: _Pool,
    y: np.ndarray,
    source: np.ndarray,
    other: np.ndarray,
    cyclic: bool,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    num_classes, target = pool.start.size - 1, np.empty_like(source)
    todo = np.arange(source.size)
    for _ in range(_RETRIES):
        of = y[source[todo]]
        if cyclic:
            step = other[todo].astype(of.dtype)
        else:
            step = np.where(other[todo], rng.integers(1, num_classes, todo.size), 0)
        target[todo] = pool.partners((of + step) % num_classes, rng)
        todo = _clashes(source, target, y.size)
        if todo.size == 0:
            break
    keep = np.ones(source.size, dtype=bool)
    keep[todo] = False
    return source[keep], target[keep]


def _clashes(source: np.ndarray, target: np.ndarray, num_nodes: int) -> np.ndarray:
    """Return the indices of self-loops and of all but the first copy of each pair."""
    key = np.minimum(source, target) * num_nodes + np.maximum(source, target)
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    clash = source == target
    clash[order[1:][ranked[1:] == ranked[:-1]]] = True
    return np.flatnonzero(clash)


def _node_heterophily(y: np.ndarray, source: np.ndarray, target: np.ndarray) -> float:
    unlike = (y[source] != y[target]).astype(np.float64)
    degree, different = np.zeros(y.size), np.zeros(y.size)
    for ends in (source, target):
        degree += np.bincount(ends, minlength=y.size)
        different += np.bincount(ends, weights=unlike, minlength=y.size)
    return float(np.mean(different / np.maximum(degree, 1)))


def _weights(
    num_nodes: int, degree: float, power_law: float | None, rng: np.random.Generator
) -> np.ndarray | None:
    if power_law is None:
        return None
    weights = (1 - rng.random(num_nodes)) ** (-1 / (power_law - 1))
    # past this degree two hubs would share more than one edge on average
    most = math.sqrt(num_nodes / degree)
    capped: np.ndarray = np.minimum(weights / weights.mean(), most)
    return capped
