"""The adjacency matrix of a graph, normalised, and the sparse product with it."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.devices import CPU
from herofilter.errors import check_choice
from herofilter.spectral.compressed_rows import SparseMatrix
from herofilter.spectral.products import placed_of, product

NORMS = ("sym", "row", "none")


@dataclass(frozen=True)
class Propagation:
    """The product of a sparse matrix of the graph with hidden vectors, with its gradient.

    Args:
        matrix: ``[n, n]`` in compressed rows, on the device of the vectors; row v has the weights
            of what node v receives.
        transposed: its transpose, for the gradient.
    """

    matrix: SparseMatrix
    transposed: SparseMatrix

    def __call__(self, hidden: Tensor) -> Tensor:
        """Return the product with ``hidden`` ``[n, h]``."""
        return product(self.matrix, self.transposed, hidden)

    @classmethod
    def of(cls, matrix: sp.csr_array, device: torch.device = CPU) -> "Propagation":
        """Return the propagation by a SciPy matrix, for vectors on a device."""
        return cls(placed_of(matrix, device), placed_of(sp.csr_array(matrix.T), device))


def propagation(data: Data, norm: str = "sym", loops: bool = True) -> Propagation:
    r"""Return the product with the graph's normalised adjacency, cached on the graph.

    Args:
        data: a graph.
        norm: ``sym`` for :math:`\mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}`, ``row`` for
            :math:`\mathbf{D}^{-1} \mathbf{A}` (the mean over neighbours), ``none`` for
            :math:`\mathbf{A}`; **D** has the sums of the rows of **A**.
        loops: whether nodes without a self-loop get one of weight one; if not, all self-loops are
            removed.

    Example:
        >>> data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> propagation(data, "sym", loops=True)(torch.eye(2)).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    check_choice("norm", norm, NORMS)
    return cached_on_graph(
        data,
        ("propagation", norm, loops),
        lambda: Propagation.of(normalised(adjacency(data, loops), norm), data.edge_index.device),
        reads_features=False,
    )


def weighted_edges(data: Data) -> sp.csr_array:
    """Return the adjacency as the edges give it, self-loops included.

    Entry (v, u) is the sum of the weights of all edges from u to v.
    """
    n = int(data.num_nodes or 0)
    source, target = data.edge_index.cpu().numpy()
    weight = data.get("edge_weight")
    values = np.ones(source.size) if weight is None else weight.cpu().double().numpy().reshape(-1)
    matrix = sp.csr_array((values, (target, source)), shape=(n, n))
    matrix.sum_duplicates()
    return matrix


def adjacency(data: Data, loops: bool) -> sp.csr_array:
    """Return the adjacency; ``loops`` as in :func:`propagation`."""
    matrix = weighted_edges(data)
    diagonal = matrix.diagonal()
    matrix = sp.csr_array(matrix - sp.diags_array(diagonal))
    matrix.eliminate_zeros()
    if loops:
        matrix = sp.csr_array(matrix + sp.diags_array(np.where(diagonal == 0, 1.0, diagonal)))
    matrix.sort_indices()
    return matrix


def normalised(matrix: sp.csr_array, norm: str) -> sp.csr_array:
    """Return a matrix scaled by the sums of its rows; empty rows stay empty."""
    if norm == "none":
        return matrix
    degree = np.asarray(matrix.sum(axis=1)).reshape(-1)
    power = np.zeros_like(degree)
    np.power(degree, -0.5 if norm == "sym" else -1.0, out=power, where=degree > 0)
    left = sp.diags_array(power)
    return sp.csr_array(left @ matrix @ left if norm == "sym" else left @ matrix)
