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
        tables: ``[t, n, h]``, three at least; :math:`T_k(\mathbf{M})\mathbf{H}` is left in table k
            if there are K + 1 of them.
        out: ``[f, n, h]``.
    """
    count = tables.shape[0]
    tables[0] = hidden
    for f in range(out.shape[0]):
        _scale(theta[f, 0], hidden, out[f])
    for k in range(1, theta.shape[1]):
        target, before = tables[k % count], tables[(k - 2) % count]
        multiply_rows(crow, col, value, tables[(k - 1) % count], target)
        for row in range(target.shape[0]):
            line = target[row]
            if k == 1:
                for c in range(line.size):
                    line[c] *= np.float32(0.5)
            else:
                other = before[row]
                for c in range(line.size):
                    line[c] -= other[c]
            for f in range(out.shape[0]):
                weight, total = theta[f, k], out[f, row]
                for c in range(line.size):
                    total[c] += weight * line[c]


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


@compiled(nogil=True)
def _scale(weight: Any, source: Any, target: Any) -> None:
    for row in range(source.shape[0]):
        for c in range(source.shape[1]):
            target[row, c] = weight * source[row, c]
