"""Node features: how dense they are, rows or columns made comparable, a stand-in for none."""

import copy
import warnings

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree

# features with fewer entries than this share are kept in compressed rows
SPARSE_BELOW = 0.3


def density(x: Tensor) -> float:
    """Return the share of entries of ``x`` that aren't zero; ``x`` is dense or CSR."""
    if x.numel() == 0:
        return 0.0
    values = x if x.layout == torch.strided else x.values()
    return int(torch.count_nonzero(values)) / x.numel()


def csr_tensor(crow: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return a torch tensor in compressed sparse rows (CSR)."""
    with warnings.catch_warnings():
        # torch calls the format beta at its first use: nothing that a user could act on
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, value, size=shape, check_invariants=False)


def to_sparse(x: Tensor) -> Tensor:
    """Return ``x`` as a float32 tensor in compressed sparse rows (CSR).

    Example:
        >>> to_sparse(torch.tensor([[0.0, 2.0], [0.0, 0.0]])).values().tolist()
        [2.0]
    """
    if x.layout == torch.sparse_csr:
        return x.to(torch.float32)
    row, col = x.nonzero(as_tuple=True)
    crow = torch.zeros(x.size(0) + 1, dtype=torch.long)
    crow[1:] = torch.bincount(row, minlength=x.size(0)).cumsum(0)
    return csr_tensor(crow, col, x[row, col].to(torch.float32), (x.size(0), x.size(1)))


def row_normalise(x: Tensor) -> Tensor:
    """Return ``x`` with the absolute values of each row adding up to one; zero rows stay zero.

    Example:
        >>> row_normalise(torch.tensor([[1.0, -3.0], [0.0, 0.0]])).tolist()
        [[0.25, -0.75], [0.0, 0.0]]
    """
    if x.layout == torch.strided:
        total = x.abs().sum(dim=1, keepdim=True)
        return x / total.masked_fill(total == 0, 1)
    crow, values = x.crow_indices(), x.values()
    row = torch.repeat_interleave(torch.arange(x.size(0)), crow.diff())
    total = torch.zeros(x.size(0), dtype=values.dtype).index_add_(0, row, values.abs())
    scaled = values / total.masked_fill(total == 0, 1)[row]
    return csr_tensor(crow, x.col_indices(), scaled, (x.size(0), x.size(1)))


def standardise(x: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    """Return ``(x - mean) · scale`` column by column, always dense.

    Example:
        >>> x = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
        >>> standardise(x, torch.tensor([2.0, 5.0]), torch.tensor([1.0, 0.0])).tolist()
        [[-1.0, 0.0], [1.0, 0.0]]
    """
    return ((x.to_dense() if x.layout == torch.sparse_csr else x) - mean).mul_(scale)


def degree_features(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return ``[n, 2]``: log(1 + out-degree) and log(1 + in-degree), each standardised.

    A column in which all nodes agree becomes zero.
    """
    columns = [degree(ends, num_nodes, dtype=torch.float64).log1p() for ends in edge_index]
    # [n, 2]
    raw = torch.stack(columns, dim=1)
    spread = raw.std(dim=0, correction=0)
    constant = raw.amax(dim=0) == raw.amin(dim=0)
    scaled = (raw - raw.mean(dim=0)) / spread.masked_fill(constant, 1)
    return scaled.masked_fill(constant, 0).to(torch.float32)


def with_features(data: Data) -> Data:
    """Return ``data``, or a shallow copy with degree features and ``featureless = True``.

    The flag lets a report say that the features were made up from the edges.
    """
    if data.x is not None:
        return data
    result = copy.copy(data)
    result.num_nodes = int(data.num_nodes)
    result.x = degree_features(data.edge_index, result.num_nodes)
    result.featureless = True
    return result
