"""Columns cut into bins at their quantiles, and thresholds between bins as values again."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of the columns of a table.

    scikit-learn would find the bins anew at each call that continues a booster, and with weights of
    rows one quantile at a time, which takes longer than growing the trees. So it gets the numbers
    of bins as a table, and what it finds is turned into thresholds of the columns again.

    Args:
        edges: of each column the upper ends of all bins but the last, ascending; a value belongs to
            the first bin whose end isn't below it.

    Example:
        >>> table = np.array([[1.0], [4.0], [2.0], [4.0]])
        >>> bins = Bins.of(table, 255)
        >>> bins.edges[0].tolist(), bins.numbers(table)[:, 0].tolist()
        ([1.5, 3.0], [0.0, 2.0, 1.0, 2.0])
    """

    edges: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, table: np.ndarray, most: int) -> "Bins":
        """Return ``most`` bins of each column that have equally many rows, or one per value."""
        return cls(tuple(_edges(column, most) for column in table.T))

    def numbers(self, table: np.ndarray) -> np.ndarray:
        """Return the bin of each value ``[n, w]``, as float64."""
        found = np.empty(table.shape)
        for number, edges in enumerate(self.edges):
            found[:, number] = np.searchsorted(edges, table[:, number], side="left")
        return found

    def with_thresholds(self, nodes: np.ndarray) -> np.ndarray:
        """Return the nodes of a tree that splits bins, with thresholds that split values."""
        result = nodes.copy()
        for position in (nodes["is_leaf"] == 0).nonzero()[0]:
            edges = self.edges[int(nodes["feature_idx"][position])]
            # between two bins that occur; those between them, if any, are empty
            last = int(np.floor(nodes["num_threshold"][position]))
            result["num_threshold"][position] = edges[last]
        return result


def _edges(column: np.ndarray, most: int) -> np.ndarray:
    values = np.unique(column).astype(np.float64)
    if values.size <= most:
        middle: np.ndarray = (values[:-1] + values[1:]) / 2
        return middle
    shares = np.linspace(0, 1, most + 1)[1:-1]
    quantiles = np.quantile(column.astype(np.float64), shares, method="averaged_inverted_cdf")
    edges: np.ndarray = np.unique(quantiles)
    return edges
