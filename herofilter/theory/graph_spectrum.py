"""All eigenvalues and eigenvectors of Ã in double precision, for statements about every one."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.errors import GraphError
from herofilter.memory import check_memory
from herofilter.spectral import eigen_memory, normalised_adjacency
from herofilter.spectral.eigen import check_square, column_signs, largest_or_all

# a coefficient this much smaller than its vector is zero but for rounding
ROUNDING = 1e-11
_SAME = 1e-9


@dataclass(frozen=True)
class GraphSpectrum:
    r"""The complete decomposition :math:`\tilde{\mathbf{A}} = \mathbf{U\Lambda U}^\top`.

    Args:
        eigenvalues: float64 [n], ascending, within [-1, 1].
        vectors: float64 [n, n]; column i belongs to eigenvalue i.
    """

    eigenvalues: Tensor
    vectors: Tensor

    @property
    def num_nodes(self) -> int:
        """The number n of nodes, and of eigenvalues."""
        return int(self.eigenvalues.numel())

    @property
    def num_repeated(self) -> int:
        """How many eigenvalues equal another: their vectors may be rotated among each other."""
        same = self.eigenvalues.diff() < _SAME
        no = same.new_zeros(1)
        return int((torch.cat([same, no]) | torch.cat([no, same])).sum())

    def transform(self, signal: Tensor) -> Tensor:
        r"""Return :math:`\mathbf{U}^\top \mathbf{s}`, with rounding errors of zero set to zero.

        Shapes:
            - **signal**: [n] or [n, c], one row per node
            - **returns**: the same
        """
        if signal.dim() not in (1, 2) or signal.size(0) != self.num_nodes:
            raise GraphError(
                f"the signal must have one row for each of the {self.num_nodes} nodes "
                f"(got shape {list(signal.shape)}); take it from the same graph"
            )
        wide = signal.to(torch.float64)
        return without_rounding(self.vectors.t() @ wide, wide.norm(dim=0))

    def response(self, g: Callable[[Tensor], Tensor] | Tensor) -> Tensor:
        """Return g at each eigenvalue as float64 [n]; ``g`` may be a function or its values."""
        values = g if isinstance(g, Tensor) else g(self.eigenvalues)
        if values.shape != self.eigenvalues.shape or not bool(values.isfinite().all()):
            raise GraphError(
                f"g must give one finite value for each of the {self.num_nodes} eigenvalues "
                f"(got shape {list(values.shape)}); return a tensor of the shape of its argument"
            )
        return values.detach().to(torch.float64)


def graph_spectrum(data: Data, *, self_loops: bool = True) -> GraphSpectrum:
    r"""Return all eigenpairs of :math:`\tilde{\mathbf{A}}` of the undirected graph.

    The matrix is dense, so this is for graphs of up to some thousand nodes; more than fits into
    memory is refused before the work starts. The sign of each vector is chosen so that its entry
    of largest magnitude is positive.

    Example:
        >>> pair = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
        >>> graph_spectrum(pair, self_loops=False).eigenvalues.round(decimals=6).tolist()
        [-1.0, 1.0]
    """
    num_nodes = int(data.num_nodes)
    check_memory(
        eigen_memory(num_nodes) + 8 * num_nodes**2,
        f"the complete spectrum of {num_nodes} nodes",
        "take a smaller graph, or a part of this one",
    )
    weight = data.get("edge_weight")
    matrix = normalised_adjacency(data.edge_index, num_nodes, weight, self_loops=self_loops)
    check_square(matrix)
    found = largest_or_all(matrix, num_nodes)
    return GraphSpectrum(found.values.clamp(-1, 1), found.vectors * column_signs(found.vectors))


def without_rounding(coefficients: Tensor, norm: Tensor) -> Tensor:
    """Return the coefficients with those zero that are below rounding, compared with ``norm``."""
    return coefficients.masked_fill(coefficients.abs() <= ROUNDING * norm, 0.0)
