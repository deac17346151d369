"""The matrices with which baselines propagate, made once per graph and remembered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric.data import Data

from herofilter.errors import check_choice
from herofilter.patchers.products import csr_of, product

NORMS = ("sym", "row", "none")
Made = TypeVar("Made")

# by edges and not by layer: the same layer may meet another graph
_KNOWN: Any = WeakTensorKeyDictionary()


def remember(data: Data, key: tuple[object, ...], make: Callable[[], Made]) -> Made:
    """Return what ``make`` gives for this graph and ``key``, made at the first call only.

    It is kept for as long as the edges live and nobody changes them, their weights or the
    features.

    Example:
        >>> import torch
        >>> data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
        >>> remember(data, ("list",), list) is remember(data, ("list",), list)
        True
    """
    parts = (data.edge_index, data.get("edge_weight"), data.get("x"))
    state = (data.num_nodes, *(None if part is None else part._version for part in parts))
    held = _KNOWN.get(data.edge_index)
    if held is None or held[0] != state or held[1] is not parts[1] or held[2] is not parts[2]:
        held = (state, parts[1], parts[2], {})
        _KNOWN[data.edge_index] = held
    known: dict[tuple[object, ...], Made] = held[3]
    if key not in known:
        known[key] = make()
    return known[key]


@dataclass(frozen=True)
class Propagation:
    """A matrix of the graph that hidden vectors are multiplied with.

    Args:
        matrix: ``[n, n]`` in compressed rows; row v gathers what node v receives.
        transposed: its transpose, for the way back.
    """

    matrix: Tensor
    transposed: Tensor

    def __call__(self, hidden: Tensor) -> Tensor:
        """Return the product with ``hidden`` ``[n, h]``."""
        return product(self.matrix, self.transposed, hidden)

    @classmethod
    def of(cls, matrix: sp.csr_array) -> "Propagation":
        """Return the propagation by a SciPy matrix."""
        return cls(csr_of(matrix), csr_of(sp.csr_array(matrix.T)))


def propagation(data: Data, norm: str = "sym", loops: bool = True) -> Propagation:
    r"""Return the graph's matrix, remembered.

    Args:
        data: a graph.
        norm: ``sym`` for :math:`\mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}`, ``row`` for
            :math:`\mathbf{D}^{-1} \mathbf{A}` (the mean over neighbours), ``none`` for
            :math:`\mathbf{A}`; **D** has the sums of the rows of **A**.
        loops: whether nodes without a self-loop get one of weight one; without it all self-loops
            are taken away.

    Example:
        >>> import torch
        >>> data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> propagation(data, "sym", loops=True)(torch.eye(2)).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    check_choice("norm", norm, NORMS)
    return remember(
        data,
        ("propagation", norm, loops),
        lambda: Propagation.of(normalised(adjacency(data, loops), norm)),
    )


def adjacency(data: Data, loops: bool) -> sp.csr_array:
    """Return the adjacency: entry (v, u) is the weight of all edges from u to v together."""
    n = int(data.num_nodes or 0)
    source, target = data.edge_index.numpy()
    weight = data.get("edge_weight")
    values = np.ones(source.size) if weight is None else weight.double().numpy().reshape(-1)
    matrix = sp.csr_array((values, (target, source)), shape=(n, n))
    matrix.sum_duplicates()
    own = matrix.diagonal()
    matrix = sp.csr_array(matrix - sp.diags_array(own))
    matrix.eliminate_zeros()
    if loops:
        matrix = sp.csr_array(matrix + sp.diags_array(np.where(own == 0, 1.0, own)))
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
