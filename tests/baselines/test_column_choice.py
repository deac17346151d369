"""The columns that trees read: those that tell classes apart, by training labels alone."""

import numpy as np
import torch

from herofilter.baselines.column_choice import as_columns, choose_columns, dense


def test_the_columns_that_differ_between_classes_are_kept() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    x = rng.standard_normal((200, 150))
    x[:, [3, 70, 149]] += 2.0 * y[:, None]
    x[:, 5] = 1.0
    found = choose_columns(150, 3, lambda part: x[:, part], y)
    assert found.tolist() == [3, 70, 149]


def test_the_measure_against_a_loop() -> None:
    rng = np.random.default_rng(1)
    y, x = rng.integers(0, 3, 60), rng.standard_normal((60, 20))
    share = []
    for column in x.T:
        groups = [column[y == label] for label in range(3)]
        between = sum(len(g) * (g.mean() - column.mean()) ** 2 for g in groups)
        share.append(between / ((column - column.mean()) ** 2).sum())
    best = sorted(np.argsort(share)[-6:].tolist())
    assert choose_columns(20, 6, lambda part: x[:, part], y).tolist() == best


def test_few_columns_are_all_kept_without_a_look_at_labels() -> None:
    def never(part: np.ndarray) -> np.ndarray:
        raise AssertionError

    assert choose_columns(4, 4, never, np.empty(0)).tolist() == [0, 1, 2, 3]


def test_sparse_columns_are_those_of_the_dense_matrix() -> None:
    x = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    for form in (x, x.to_sparse_csr()):
        assert dense(as_columns(form), np.array([2, 1])).tolist() == [[0.0, 2.0], [3.0, 0.0]]
