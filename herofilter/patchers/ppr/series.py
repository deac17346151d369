r"""Exact fast patches: rows of the truncated Neumann series, block by block.

For every node :math:`v` the paper minimises :math:`\mathcal{J}(\mathbf{r}_v) = c\,\mathbf{r}_v^\top
(\mathbf{I} - \tilde{\mathbf{A}}) \mathbf{r}_v + (1 - c) \|\mathbf{r}_v - \mathbf{e}_v\|_2^2`,
with the solution :math:`\mathbf{r}_v = (1-c) (\mathbf{I} - c\tilde{\mathbf{A}})^{-1} \mathbf{e}_v
\approx (1-c) \sum_{k=0}^K c^k \tilde{\mathbf{A}}^k \mathbf{e}_v`.
"""

import math

import numpy as np
import scipy.sparse as sp

from herofilter.callbacks import Callback, notify
from herofilter.errors import OutOfMemoryError
from herofilter.patchers.ppr.ranking import rank

BLOCK_BYTES = 256 * 2**20
CLOSED_FORM_NODES = 10_000


def num_steps(c: float, tolerance: float) -> int:
    r"""Return the smallest :math:`K` with :math:`c^{K+1} \le` ``tolerance``.

    Example:
        >>> num_steps(0.5, 1e-6)
        19
    """
    return 0 if c == 0 else max(0, math.ceil(math.log(tolerance) / math.log(c)) - 1)


def block_size(num_nodes: int) -> int:
    """Return how many rows are worked on at once: four dense copies within 256 MB."""
    return max(1, BLOCK_BYTES // (4 * 8 * max(1, num_nodes)))


def neumann_rows(matrix: sp.csr_array, nodes: np.ndarray, c: float, tolerance: float) -> np.ndarray:
    r"""Return rows ``nodes`` of :math:`(1-c) \sum_{k=0}^K c^k \mathbf{M}^k` as [m, n].

    Example:
        >>> half = sp.csr_array(np.full((2, 2), 0.5))
        >>> neumann_rows(half, np.array([0]), c=0.5, tolerance=1e-9).round(6).tolist()
        [[0.75, 0.25]]
    """
    return _rows(sp.csr_array(matrix.T), nodes, c, tolerance)


def series_top(
    matrix: sp.csr_array,
    nodes: np.ndarray,
    patch_size: int,
    c: float,
    tolerance: float,
    ego_first: bool,
    callback: Callback | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return index [m, p] and score [m, p] of the best ``patch_size`` nodes for each of ``nodes``.

    Nodes that no walk reaches have score zero and are left out, as padding.
    """
    index = np.full((nodes.size, patch_size), -1, dtype=np.int64)
    score = np.zeros((nodes.size, patch_size), dtype=np.float32)
    transposed = sp.csr_array(matrix.T)
    everyone = np.arange(matrix.shape[0])
    ones = np.ones(matrix.shape[0])
    step = block_size(matrix.shape[0])
    for start in range(0, nodes.size, step):
        block = nodes[start : start + step]
        for i, row in enumerate(_rows(transposed, block, c, tolerance), start):
            outputs = (index[i], score[i])
            rank(nodes[i], everyone, everyone, row, 1.0, ones, 1.0, everyone, ego_first, *outputs)
        notify(callback, "rows", start + block.size, nodes.size)
    return index, score


def objective(r: np.ndarray, matrix: sp.csr_array, v: int, c: float) -> float:
    r"""Return :math:`\mathcal{J}(\mathbf{r}_v)` for a symmetric normalised adjacency matrix.

    Example:
        >>> objective(np.array([1.0, 0.0]), sp.csr_array(np.full((2, 2), 0.5)), v=0, c=0.5)
        0.25
    """
    gap = r.copy()
    gap[v] -= 1.0
    return float(c * (r @ (r - matrix @ r)) + (1.0 - c) * (gap @ gap))


def closed_form(matrix: sp.csr_array, c: float) -> np.ndarray:
    r"""Return all rows :math:`(1-c)(\mathbf{I} - c\mathbf{M})^{-1}` as a dense matrix [n, n]."""
    n = matrix.shape[0]
    if n > CLOSED_FORM_NODES:
        raise OutOfMemoryError(
            f"the closed form must have at most {CLOSED_FORM_NODES} nodes, as it inverts a dense "
            f"n × n matrix (got {n}); use FastPatcher, which needs no inverse"
        )
    inverse: np.ndarray = np.linalg.inv(np.eye(n) - c * matrix.toarray())
    return (1.0 - c) * inverse


def _rows(transposed: sp.csr_array, nodes: np.ndarray, c: float, tolerance: float) -> np.ndarray:
    # [n, m], one column per source node
    term = np.zeros((transposed.shape[0], nodes.size))
    term[nodes, np.arange(nodes.size)] = 1.0 - c
    total = term.copy()
    for _ in range(num_steps(c, tolerance)):
        term = transposed @ term
        term *= c
        total += term
    return np.ascontiguousarray(total.T)
