"""Bins of columns: by quantiles, and thresholds that split values as they split bins."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from herofilter.training.bins import Bins


def test_bins_hold_equally_many_rows() -> None:
    table = np.random.default_rng(0).standard_normal((1000, 2))
    numbers = Bins.of(table, 10).numbers(table)
    counts = np.bincount(numbers[:, 0].astype(int))
    assert counts.size == 10
    assert abs(counts - 100).max() <= 1


def test_many_equal_values_share_a_bin() -> None:
    column = np.concatenate([np.zeros(900), np.arange(1, 101)])
    bins = Bins.of(column[:, None], 10)
    numbers = bins.numbers(column[:, None])[:, 0]
    assert len(set(numbers[:900])) == 1
    assert numbers[899] <= numbers[900]
    assert np.all(np.diff(bins.edges[0]) > 0)


def test_a_constant_column_is_one_bin() -> None:
    bins = Bins.of(np.full((5, 1), 3.0), 10)
    assert bins.edges[0].size == 0
    assert bins.numbers(np.array([[2.0], [4.0]])).tolist() == [[0.0], [0.0]]


def test_thresholds_split_values_as_they_split_bins() -> None:
    rng = np.random.default_rng(0)
    table, other = rng.standard_normal((2, 500, 3)).astype(np.float32)
    y = (table[:, 0] * table[:, 1] > 0).astype(int)
    bins = Bins.of(table, 20)
    estimator = HistGradientBoostingClassifier(max_iter=3, early_stopping=False)
    estimator.fit(bins.numbers(table), y)
    for (tree,) in estimator._predictors:
        nodes = bins.with_thresholds(tree.nodes)
        assert (nodes["is_leaf"] == 0).sum() > 3
        for values, numbers in zip(other, bins.numbers(other), strict=True):
            assert reached(nodes, values) == reached(tree.nodes, numbers)


def reached(nodes: np.ndarray, row: np.ndarray) -> int:
    """Return the leaf that a row comes to."""
    position = 0
    while not nodes["is_leaf"][position]:
        low = row[nodes["feature_idx"][position]] <= nodes["num_threshold"][position]
        position = int(nodes["left" if low else "right"][position])
    return position
