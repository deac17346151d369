"""Definition 2: heterophily in the spectral domain, ĥ = Uᵀh."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.measures import node_heterophily_vector
from herofilter.theory.graph_spectrum import GraphSpectrum, graph_spectrum


@dataclass(frozen=True)
class HeterophilySpectrum:
    r"""The heterophily of each node, and its coefficients in the eigenbasis.

    The sign of an eigenvector is a convention, so only :math:`|\hat{h}_i|` means something; and
    where eigenvalues repeat, only the sum of :math:`\hat{h}_i^2` over the equal ones does.

    Args:
        eigenvalues: float64 [n], ascending: λ.
        h: float64 [n], the heterophily of each node (Definition 1).
        h_hat: float64 [n], ĥ; coefficient i belongs to eigenvalue i.
        num_repeated: how many eigenvalues equal another one.
    """

    eigenvalues: Tensor
    h: Tensor
    h_hat: Tensor
    num_repeated: int

    @property
    def largest(self) -> float:
        r"""The largest :math:`|\hat{h}_i|`, which Proposition 1 wants to be at most 1."""
        return float(self.h_hat.abs().max())

    @property
    def energy(self) -> Tensor:
        r"""The share :math:`\hat{h}_i^2 / \|\mathbf{h}\|^2` of each eigenvalue, [n]."""
        squares = self.h_hat.square()
        return squares / squares.sum().clamp(min=torch.finfo(squares.dtype).tiny)


def heterophily_spectrum(data: Data, spectrum: GraphSpectrum | None = None) -> HeterophilySpectrum:
    r"""Return :math:`\hat{\mathbf{h}} = \mathbf{U}^\top \mathbf{h}` of a labelled graph.

    Args:
        data: the graph; unlabelled nodes (-1) have heterophily 0.
        spectrum: of ``data``, if it is known already; by default that of Ã with self-loops.

    Example:
        >>> ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
        >>> data = Data(edge_index=ring, y=torch.tensor([0, 1, 0, 1]), num_nodes=4)
        >>> found = heterophily_spectrum(data)
        >>> found.h.tolist(), found.h_hat.round(decimals=6).tolist()
        ([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 2.0])
    """
    known = graph_spectrum(data) if spectrum is None else spectrum
    h = node_heterophily_vector(data, dtype=torch.float64)
    return HeterophilySpectrum(known.eigenvalues, h, known.transform(h), known.num_repeated)
