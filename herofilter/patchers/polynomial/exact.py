"""The exact largest entries of rows of polynomials, and of sums of words in N and its transpose."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import reverse_cuthill_mckee

from herofilter.callbacks import Callback
from herofilter.errors import ConfigError
from herofilter.memory import check_memory
from herofilter.patchers.polynomial.block_kernel import (
    BLOCK,
    GROUP,
    BlockSpace,
    block_space,
    fill_block,
)
from herofilter.patchers.polynomial.found import PolynomialFound
from herofilter.patchers.row_filling import CHUNK, fill_rows

# measured: a matrix, its turned and renumbered copies, and the padded ones
_ENTRY_BYTES = 60
Word = tuple[bool, ...]
"""A product of the matrices N (False) and Nᵀ (True), read from left to right."""


def polynomial_top(
    matrix: sp.csr_array,
    coefficients: np.ndarray,
    nodes: np.ndarray,
    widths: Sequence[int],
    *,
    exclude_self: bool = True,
    with_basis: bool = False,
    callback: Callback | None = None,
) -> list[PolynomialFound]:
    r"""Return the largest entries of rows of :math:`\sum_k \theta_{f,k} T_k(\mathbf{M})`.

    All filters f share the products of the recurrence :math:`\mathbf{X}_{k+1} = 2\mathbf{M}
    \mathbf{X}_k - \mathbf{X}_{k-1}`, which runs for blocks of rows; no matrix of size n × n is
    kept. Scores are ranked with their sign, in steps of :math:`2^{-18}` of the row's largest
    modulus; equal ones go by node id, and those that are zero in such steps are never chosen. The
    result doesn't depend on the number of threads or on the other ``nodes``.

    Args:
        matrix: **M**, such as the normalised adjacency.
        coefficients: :math:`\theta` [F, K + 1].
        nodes: the rows, m node ids.
        widths: how many entries each filter chooses per row.
        exclude_self: leave the node itself out.
        with_basis: also return the entries of every :math:`T_k(\mathbf{M})` that were chosen.
        callback: takes a ``rows`` event after each chunk of rows.

    Returns:
        for each filter index [m, w], with -1 as padding, score [m, w] and basis [m, w, K + 1].

    Example:
        >>> path = sp.csr_array([[0.5, 0.4, 0.0], [0.4, 0.3, 0.4], [0.0, 0.4, 0.5]])
        >>> two_steps = np.array([[0.5, 0.0, 0.5]])  # x²
        >>> found = polynomial_top(path, two_steps, np.array([0]), [2])[0]
        >>> found.index.tolist(), found.score.round(2).tolist()
        ([[1, 2]], [[0.3199999928474426, 0.1599999964237213]])
    """
    orders = coefficients.shape[1]
    steps = [(0, k, k - 1) for k in range(orders - 1)]
    tables = list(range(orders))
    return _top(
        matrix, steps, tables, coefficients, nodes, widths, exclude_self, with_basis, callback
    )


def word_top(
    matrix: sp.csr_array,
    words: Sequence[Word],
    coefficients: np.ndarray,
    nodes: np.ndarray,
    widths: Sequence[int],
    *,
    exclude_self: bool = True,
    with_basis: bool = False,
    callback: Callback | None = None,
) -> list[PolynomialFound]:
    r"""Return the largest entries of rows of :math:`\sum_w \theta_{f,w} \mathbf{W}_w`.

    Each word is a product of N and its transpose, such as :math:`\mathbf{N}\mathbf{N}^\top`; words
    that start alike share products. The rest is as for :func:`polynomial_top`.

    Args:
        matrix: **N**, such as the normalised adjacency of a directed graph.
        words: the products, each a tuple with False for N and True for its transpose, from left to
            right; ``()`` is the identity.
        coefficients: :math:`\theta` [F, number of words].

    Returns:
        for each filter as :func:`polynomial_top`, with basis [m, w, number of words].

    Example:
        >>> edges = sp.csr_array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
        >>> co_reference = [(False, True)]
        >>> found = word_top(edges, co_reference, np.ones((1, 1)), np.array([0]), [2])[0]
        >>> found.index.tolist(), found.score.tolist()
        ([[1, -1]], [[0.5, 0.0]])
    """
    # sorted, a product comes after its prefix
    products = sorted({word[:stop] for word in words for stop in range(len(word) + 1)} | {()})
    position = {product: table for table, product in enumerate(products)}
    steps = [(int(word[-1]), position[word[:-1]], -1) for word in products[1:]]
    tables = [position[word] for word in words]
    return _top(
        matrix, steps, tables, coefficients, nodes, widths, exclude_self, with_basis, callback
    )


def _top(
    matrix: sp.csr_array,
    steps: list[tuple[int, int, int]],
    tables: list[int],
    coefficients: np.ndarray,
    nodes: np.ndarray,
    widths: Sequence[int],
    exclude_self: bool,
    with_basis: bool,
    callback: Callback | None,
) -> list[PolynomialFound]:
    """Return the best entries of sums of tables; see :func:`fill_block` for ``steps``."""
    filters, n = len(coefficients), matrix.shape[0]
    if len(widths) != filters or coefficients.shape[1] != len(tables):
        raise ConfigError(
            "coefficients must have a row per width and a column per term "
            f"(got {list(coefficients.shape)} for {len(widths)} widths and {len(tables)} terms)"
        )
    size = rows_memory(n, matrix.nnz, len(steps) + 1, filters, sum(widths) if with_basis else 0)
    check_memory(size, f"exact rows of {n} nodes", "use patcher=local")
    # neighbours get close positions: they share cache lines, and a block reaches fewer rows
    ids = np.asarray(reverse_cuthill_mckee(sp.csr_matrix(matrix), symmetric_mode=False))
    matrix = sp.csr_array(matrix[ids][:, ids])
    position = np.empty(n, np.int64)
    position[ids] = np.arange(n)
    order = np.argsort(position[nodes], kind="stable")
    sources = position[nodes][order]
    # a row of a product is a column of the transposed one
    matrices = (_padded(sp.csr_array(matrix.T)), _padded(matrix))
    plan = np.array(steps, np.int64).reshape(-1, 3)
    spare = -len(tables) % GROUP
    which = np.array(tables + [0] * spare, np.int64)
    weights = np.pad(np.asarray(coefficients, np.float32), ((0, 0), (0, spare)))
    starts = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
    width = int(starts[-1])
    basis = np.zeros((nodes.size, width if with_basis else 0, len(steps) + 1), np.float32)

    def space() -> BlockSpace:
        return block_space(len(steps) + 1, filters, n)

    def fill(rows: slice, space: BlockSpace, index: np.ndarray, score: np.ndarray) -> None:
        fixed = (matrices, plan, which, weights, ids)
        for start in range(0, len(index), BLOCK):
            part = slice(start, start + BLOCK)
            out = (index[part], score[part], with_basis, basis[rows][part])
            fill_block(*fixed, sources[rows][part], exclude_self, starts, space, *out)

    index, score = fill_rows(nodes.size, width, space, fill, callback)
    np.copyto(index, ids[index], where=index >= 0)
    inverse = np.argsort(order, kind="stable")
    index, score = index[inverse], score[inverse]
    values = basis[inverse][:, :, tables] if with_basis else None
    slots = [slice(*ends) for ends in pairwise(starts)]
    return [
        PolynomialFound(
            index[:, slot], score[:, slot], basis=None if values is None else values[:, slot]
        )
        for slot in slots
    ]


def rows_memory(
    num_nodes: int, num_entries: int, num_tables: int, num_filters: int, width: int
) -> int:
    """Return about how many bytes the rows of all nodes take at the peak.

    Args:
        num_nodes: n.
        num_entries: of the matrix that aren't zero.
        num_tables: products per block of rows.
        num_filters: sums of them.
        width: how many entries are chosen per row.
    """
    threads = min(torch.get_num_threads(), -(-num_nodes // CHUNK))
    blocks = 4 * BLOCK * num_nodes * (num_tables + num_filters) * threads
    return blocks + _ENTRY_BYTES * num_entries + num_nodes * width * (8 + 3 * 4 * num_tables)


def _padded(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows whose lengths are multiples of GROUP; zeros in their first columns fill them."""
    matrix.sort_indices()
    lengths = np.diff(matrix.indptr)
    padded = -(-lengths // GROUP) * GROUP
    crow = np.concatenate([[0], np.cumsum(padded, dtype=np.int64)])
    position = np.arange(matrix.nnz) + np.repeat(crow[:-1] - matrix.indptr[:-1], lengths)
    filled = lengths > 0
    col = np.repeat(matrix.indices[matrix.indptr[:-1][filled]], padded[filled]).astype(np.int32)
    value = np.zeros(col.size, np.float32)
    col[position], value[position] = matrix.indices, matrix.data
    return crow, col, value
