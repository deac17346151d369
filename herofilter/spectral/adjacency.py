"""The normalised adjacency matrix Ã, whose spectrum all filters and patches use."""

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from herofilter.errors import GraphError, check_choice

DIRECTED_RULES = ("symmetrise", "keep")
"""What can be done with the direction of edges: it is ignored, or kept."""


def adjacency_matrix(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    *,
    self_loops: bool = True,
    directed: str = "symmetrise",
) -> sp.csr_array:
    r"""Return the adjacency matrix :math:`\mathbf{A}` with ``A[i, j]`` the edge i → j.

    Without weights an edge counts once however often it is listed; with weights, duplicates are
    added up. ``directed="symmetrise"`` takes the larger of both directions. The diagonal is one
    everywhere with ``self_loops`` and zero everywhere without, whatever the edge list says.
    """
    check_choice("directed", directed, DIRECTED_RULES)
    row, col = edge_index.numpy()
    value = np.ones(row.size) if edge_weight is None else edge_weight.numpy().astype(np.float64)
    if value.size and (not np.isfinite(value).all() or value.min() < 0):
        raise GraphError(
            "edge weights must be finite and not negative "
            f"(got {value.min():g} to {value.max():g}); drop or rescale the others"
        )
    matrix = sp.csr_array((value, (row, col)), shape=(num_nodes, num_nodes))
    matrix.sum_duplicates()
    if edge_weight is None:
        matrix.data[:] = 1.0
    if directed == "symmetrise":
        matrix = sp.csr_array(matrix.maximum(matrix.T))
    matrix = sp.csr_array(matrix - sp.diags_array(matrix.diagonal()))
    if self_loops:
        matrix = sp.csr_array(matrix + sp.eye_array(num_nodes))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def normalise(matrix: sp.csr_array) -> sp.csr_array:
    r"""Return :math:`\mathbf{D}_{out}^{-1/2} \mathbf{A} \mathbf{D}_{in}^{-1/2}`.

    On a symmetric matrix that is the paper's :math:`\tilde{\mathbf{A}} = \mathbf{D}^{-1/2}
    \mathbf{A} \mathbf{D}^{-1/2}`. Nodes without edges keep empty rows and columns.
    """
    left, right = (_inverse_root(np.asarray(matrix.sum(axis=axis))) for axis in (1, 0))
    return sp.csr_array(sp.diags_array(left) @ matrix @ sp.diags_array(right))


def normalised_adjacency(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    *,
    self_loops: bool = True,
    directed: str = "symmetrise",
) -> sp.csr_array:
    r"""Return :math:`\tilde{\mathbf{A}}`: :func:`adjacency_matrix`, then :func:`normalise`.

    Example:
        >>> import torch
        >>> normalised_adjacency(torch.tensor([[0], [1]]), 2).toarray().round(2).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    return normalise(
        adjacency_matrix(
            edge_index, num_nodes, edge_weight, self_loops=self_loops, directed=directed
        )
    )


def _inverse_root(degree: np.ndarray) -> np.ndarray:
    root = np.zeros_like(degree, dtype=np.float64)
    np.divide(1.0, np.sqrt(degree), out=root, where=degree > 0)
    return root
