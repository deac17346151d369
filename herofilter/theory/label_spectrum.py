"""Where the labels lie in the spectrum; their mean frequency is the edge heterophily."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, degree

from herofilter.theory.graph_spectrum import graph_spectrum


@dataclass(frozen=True)
class LabelSpectrum:
    """The share of each eigenvalue in the energy of the labels.

    Args:
        eigenvalues: float64 [n], ascending: λ of Ã without self-loops.
        energy: float64 [n], not negative; adds up to one, or to zero without labelled edges.
    """

    eigenvalues: Tensor
    energy: Tensor

    @property
    def mean_frequency(self) -> float:
        r"""The mean of 1 - λ, weighted by energy: exactly the edge heterophily.

        NaN without labelled edges.
        """
        return float(((1 - self.eigenvalues) * self.energy).sum() / self.energy.sum())

    def energy_between(self, low: float, high: float) -> float:
        """Return the energy of the eigenvalues from ``low`` to ``high``, both included."""
        inside = (self.eigenvalues >= low) & (self.eigenvalues <= high)
        return float(self.energy[inside].sum())


def label_spectrum(data: Data) -> LabelSpectrum:
    r"""Return the energy of the labels at each eigenvalue.

    .. math::
        e_i = \frac{1}{2|\mathcal{E}|} \sum_c
              \left(\mathbf{u}_i^\top \mathbf{D}^{1/2} \mathbf{1}_c\right)^2

    Here :math:`\mathbf{1}_c` marks the nodes of class c. The graph is taken without directions,
    self-loops and weights, and without edges that have an unlabelled end.

    Example:
        >>> ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
        >>> found = label_spectrum(Data(edge_index=ring, y=torch.tensor([0, 0, 1, 1])))
        >>> round(found.mean_frequency, 6), round(found.energy_between(-0.1, 0.1), 6)
        (0.5, 0.5)
    """
    y = data.y
    source, target = data.edge_index
    kept = data.edge_index[:, (source != target) & (y[source] >= 0) & (y[target] >= 0)]
    pairs = coalesce(torch.cat([kept, kept.flip(0)], dim=1), num_nodes=y.numel())
    spectrum = graph_spectrum(Data(edge_index=pairs, num_nodes=y.numel()), self_loops=False)
    root = degree(pairs[0], y.numel(), dtype=torch.float64).sqrt()
    num_classes = max(int(y.max()) + 1, 1)
    # [n, C]: the columns of D^(1/2) that mark each class; rows of unlabelled nodes are zero
    marks = root[:, None] * (y[:, None] == torch.arange(num_classes))
    energy = spectrum.transform(marks).square().sum(dim=1)
    return LabelSpectrum(spectrum.eigenvalues, energy / max(pairs.size(1), 1))
