"""Some rows of a product of sparse matrices with a dense one, from what these rows need alone."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp


def product_rows(
    matrix: sp.csr_array, rows: np.ndarray, dense: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return some rows of the product of a sparse matrix with a dense one, bit by bit the same.

    Args:
        matrix: ``[m, n]``.
        rows: ``[b]``, which rows of the product.
        dense: returns some rows of the dense matrix; it is asked for those that ``rows`` meet. May
            be a product itself.

    Example:
        >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> x = np.array([[1.0], [2.0], [4.0]])
        >>> product_rows(path, np.array([1]), x.__getitem__)
        array([[5.]])
        >>> twice = lambda met: product_rows(path, met, x.__getitem__)
        >>> product_rows(path, np.array([0, 1]), twice)
        array([[5.],
               [4.]])
    """
    part = matrix[rows]
    place = np.zeros(matrix.shape[1], dtype=part.indices.dtype)
    place[part.indices] = 1
    met = place.nonzero()[0]
    place[met] = np.arange(met.size)
    compact = sp.csr_array(
        (part.data, place[part.indices], part.indptr), shape=(part.shape[0], met.size)
    )
    product: np.ndarray = compact @ dense(met)
    return product
