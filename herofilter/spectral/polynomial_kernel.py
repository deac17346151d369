"""Chebyshev sums over a sparse matrix, compiled: all orders and all filters in one call."""

from typing import Any

import numpy as np

from herofilter.jit import compiled
from herofilter.spectral.sparse_rows import multiply_rows


@compiled(nogil=True)
def respond_chebyshev(
    crow: Any, col: Any, value: Any, theta: Any, hidden: Any, tables: Any, out: Any
) -> None:
    r"""Write :math:`\sum_k \theta_{fk} T_k(\mathbf{M})\mathbf{H}` for each filter f.

    Args:
        crow, col, value: 2·M, square, in compressed rows.
        theta: ``[f, K + 1]``.
        hidden: ``[n, h]``, the matrix H; h is a multiple of 8.
        tables: ``[3, n, h]``.
        out: ``[f, n, h]``.
    """
    tables[0] = hidden
    for f in range(out.shape[0]):
        for row in range(hidden.shape[0]):
            for c in range(hidden.shape[1]):
                out[f, row, c] = theta[f, 0] * hidden[row, c]
    for k in range(1, theta.shape[1]):
        target = tables[k % 3]
        step_chebyshev(crow, col, value, k, tables[(k - 1) % 3], tables[(k - 2) % 3], target)
        for f in range(out.shape[0]):
            weight = theta[f, k]
            for row in range(target.shape[0]):
                line, total = target[row], out[f, row]
                for c in range(line.size):
                    total[c] += weight * line[c]


@compiled(nogil=True)
def respond_slopes(
    crow: Any, col: Any, value: Any, hidden: Any, upstream: Any, tables: Any, slopes: Any
) -> None:
    r"""Write the inner products of :math:`T_k(\mathbf{M})\mathbf{H}` and :math:`\mathbf{G}_f`.

    The products are computed again: that takes less time than to keep K + 1 tables.

    Args:
        crow, col, value: 2·M, square, in compressed rows.
        hidden: ``[n, h]``, the matrix H; h is a multiple of 8.
        upstream: ``[f, n, h]``, all :math:`\mathbf{G}_f`.
        tables: ``[3, n, h]``.
        slopes: ``[f, K + 1]``, float64.
    """
    tables[0] = hidden
    sums = np.empty(hidden.shape[1], np.float32)
    for k in range(slopes.shape[1]):
        target = tables[k % 3]
        if k > 0:
            step_chebyshev(crow, col, value, k, tables[(k - 1) % 3], tables[(k - 2) % 3], target)
        for f in range(slopes.shape[0]):
            # a sum per column, which the compiler can vectorise
            sums[:] = 0
            for row in range(target.shape[0]):
                line, part = target[row], upstream[f, row]
                for c in range(line.size):
                    sums[c] += line[c] * part[c]
            slopes[f, k] = sums.sum()


@compiled(nogil=True)
def step_chebyshev(
    crow: Any, col: Any, value: Any, k: int, source: Any, before: Any, target: Any
) -> None:
    r"""Write :math:`T_k(\mathbf{M})\mathbf{H}` from the two tables before it, k at least 1."""
    multiply_rows(crow, col, value, source, target)
    for row in range(target.shape[0]):
        line, other = target[row], before[row]
        if k == 1:
            for c in range(line.size):
                line[c] *= np.float32(0.5)
        else:
            for c in range(line.size):
                line[c] -= other[c]


@compiled(nogil=True)
def respond_adjoint(
    crow: Any, col: Any, value: Any, theta: Any, upstream: Any, tables: Any
) -> None:
    r"""Write :math:`\sum_{fk} \theta_{fk} T_k(\mathbf{M})\mathbf{G}_f` by Clenshaw's recurrence.

    Args:
        crow, col, value: 2·M, symmetric, in compressed rows.
        theta: ``[f, K + 1]``.
        upstream: ``[f, n, h]``, all :math:`\mathbf{G}_f`; h is a multiple of 8.
        tables: ``[3, n, h]``; the result is left in the first.
    """
    order = theta.shape[1] - 1
    # b_k = Z_k + 2·M·b_{k+1} - b_{k+2} with Z_k = sum_f theta_fk G_f, and half the product for b_0
    for k in range(order, -1, -1):
        target, after, last = tables[k % 3], tables[(k + 1) % 3], tables[(k + 2) % 3]
        if k < order:
            multiply_rows(crow, col, value, after, target)
        share = np.float32(1 if k else 0.5)
        for row in range(target.shape[0]):
            line = target[row]
            if k == order:
                for c in range(line.size):
                    line[c] = 0
            elif k == order - 1:
                for c in range(line.size):
                    line[c] *= share
            else:
                other = last[row]
                for c in range(line.size):
                    line[c] = share * line[c] - other[c]
            for f in range(upstream.shape[0]):
                weight, part = theta[f, k], upstream[f, row]
                for c in range(line.size):
                    line[c] += weight * part[c]
