"""Whether the classes of neighbours are paired otherwise than by chance."""

import math

import numpy as np
from torch_geometric.data import Data

from herofilter.measures.label_pairs import LabelPairs

PERMUTATIONS = 199
# of a larger graph so many pairs are drawn
MOST_PAIRS = 50_000


def edge_class_p_value(data: Data, permutations: int = PERMUTATIONS, seed: int = 0) -> float:
    r"""Return how probable it is that the edges have nothing to do with the classes.

    A permutation test: labels are shuffled among the labelled nodes, the edges stay. The statistic
    is :math:`\chi^2 = \sum_{cd} (O_{cd} - E_{cd})^2 / E_{cd}` over the classes c and d of
    neighbours, with the pairs counted and those expected of independent ends. Both homophily and
    heterophily make it large. The result is the share of the shuffled graphs, with the real one
    among them, whose statistic is at least as large as the real one's: a value near 0 says that
    edges and classes belong together, and edges of other nodes give any value.

    Args:
        data: a graph; nodes with label -1 don't count.
        permutations: shuffled graphs; the value is a multiple of 1 / (permutations + 1).
        seed: of the shuffling and, beyond 50,000 pairs of neighbours, of the pairs that are drawn.

    Returns:
        the value, or NaN without an edge between labelled nodes of two classes.

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=200, num_classes=3, heterophily=0.9)
        >>> edge_class_p_value(data)
        0.005
        >>> data.y = data.y.roll(1)
        >>> edge_class_p_value(data) > 0.05
        True
    """
    found = LabelPairs.of(data)
    if found.joint is None:
        return math.nan
    rng = np.random.default_rng(seed)
    first, second = found.pairs.numpy()
    # each pair is there in both orders
    once = np.flatnonzero(first < second)
    if once.size > MOST_PAIRS:
        once = rng.choice(once, MOST_PAIRS)
    first, second = first[once], second[once]
    known = np.flatnonzero(found.labels.numpy() >= 0)
    own = found.labels.numpy()[known]
    labels = found.labels.numpy().copy()
    num_classes = int(own.max()) + 1
    real, reached = _statistic(labels[first], labels[second], num_classes), 0
    for _ in range(permutations):
        labels[known] = rng.permutation(own)
        # equal up to the order in which floats are added
        reached += _statistic(labels[first], labels[second], num_classes) >= real * (1 - 1e-12)
    return (1 + reached) / (1 + permutations)


def _statistic(first: np.ndarray, second: np.ndarray, num_classes: int) -> float:
    counts = np.bincount(first * num_classes + second, minlength=num_classes**2)
    counts = counts.reshape(num_classes, num_classes).astype(np.float64)
    counts += counts.T
    ends = counts.sum(axis=1)
    expected = np.outer(ends, ends) / ends.sum()
    occurs = expected > 0
    return float(((counts - expected)[occurs] ** 2 / expected[occurs]).sum())
