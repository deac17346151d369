"""Chebyshev recurrences over a sparse matrix, compiled: all orders in one call."""

from typing import Any

from herofilter.jit import compiled
from herofilter.spectral.sparse_rows import multiply_rows


@compiled(nogil=True)
def chebyshev_terms(crow: Any, col: Any, value: Any, tables: Any) -> None:
    r"""Write :math:`T_k(\mathbf{M})\mathbf{H}` for k = 1, …, K.

    Args:
        crow, col, value: 2·M, square, in compressed rows.
        tables: ``[K + 1, n, h]``, with H in the first; h is a multiple of 8.
    """
    for k in range(1, tables.shape[0]):
        multiply_rows(crow, col, value, tables[k - 1], tables[k])
        for row in range(tables.shape[1]):
            line = tables[k, row]
            if k == 1:
                for c in range(line.size):
                    line[c] *= 0.5
            else:
                before = tables[k - 2, row]
                for c in range(line.size):
                    line[c] -= before[c]


@compiled(nogil=True)
def chebyshev_adjoint(crow: Any, col: Any, value: Any, parts: Any, work: Any) -> None:
    r"""Write :math:`\sum_k T_k(\mathbf{M})\mathbf{Z}_k` by Clenshaw's recurrence.

    Args:
        crow, col, value: 2·M, symmetric, in compressed rows.
        parts: ``[K + 1, n, h]``, all :math:`\mathbf{Z}_k`; the result is left in the first.
        work: ``[n, h]``.
    """
    order = parts.shape[0] - 1
    # parts[k] becomes b_k = Z_k + 2·M·b_{k+1} - b_{k+2}
    for k in range(order - 1, -1, -1):
        multiply_rows(crow, col, value, parts[k + 1], work)
        for row in range(parts.shape[1]):
            line, product = parts[k, row], work[row]
            if k == 0:
                for c in range(line.size):
                    line[c] += 0.5 * product[c]
            else:
                for c in range(line.size):
                    line[c] += product[c]
            if k + 2 <= order:
                after = parts[k + 2, row]
                for c in range(line.size):
                    line[c] -= after[c]
