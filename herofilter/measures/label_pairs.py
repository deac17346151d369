"""The labels at both ends of the edges, from which all measures of heterophily are taken."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.structure import neighbour_pairs
from herofilter.errors import GraphError


@dataclass(frozen=True, eq=False)
class LabelPairs:
    """The pairs of labelled neighbours of a graph, found once for several measures.

    What the measures are is told where the functions of the same names are, in
    :mod:`herofilter.measures.heterophily`.

    Args:
        labels: class indices, -1 for nodes without a label: ``[n]``.
        pairs: each pair of labelled neighbours in both orders, once each: ``[2, m]``.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 0, 1]))
        >>> found = LabelPairs.of(path)
        >>> found.node_heterophily(), found.counts.tolist()
        (0.5, [[2.0, 1.0], [1.0, 0.0]])
    """

    labels: Tensor
    pairs: Tensor

    @classmethod
    def of(cls, data: Data) -> "LabelPairs":
        """Return the pairs of a graph."""
        labels = class_labels(data)
        known = (labels >= 0)[data.edge_index].all(dim=0)
        return cls(labels, neighbour_pairs(data.edge_index[:, known], labels.numel()))

    @cached_property
    def counts(self) -> Tensor:
        """How many pairs have the classes c and d: ``[C, C]``."""
        num_classes = max(int(self.labels.max()) + 1, 0) if self.labels.numel() else 0
        first, second = self.labels[self.pairs]
        counts = torch.bincount(first * num_classes + second, minlength=num_classes**2)
        return counts.view(num_classes, num_classes).double()

    @cached_property
    def joint(self) -> Tensor | None:
        """The distribution of classes at the ends of an edge; None if it has one class."""
        if int(torch.count_nonzero(self.counts.sum(dim=1))) < 2:
            return None
        return self.counts / self.counts.sum()

    def node_heterophily_vector(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the share of neighbours with another label, of each node: ``[n]``."""
        n, (source, target) = self.labels.numel(), self.pairs
        differ = self.labels[source] != self.labels[target]
        others = torch.bincount(source[differ], minlength=n).to(dtype)
        return others / self.num_neighbours.to(dtype).clamp(min=1)

    @cached_property
    def num_neighbours(self) -> Tensor:
        """The number of labelled neighbours of each labelled node: ``[n]``."""
        return torch.bincount(self.pairs[0], minlength=self.labels.numel())

    def node_heterophily(self) -> float:
        """Return the mean of the vector over the labelled nodes, 0 without any."""
        known = self.labels >= 0
        if not bool(known.any()):
            return 0.0
        return float(self.node_heterophily_vector()[known].double().mean())

    def class_adjusted_heterophily(self) -> float:
        """Return one minus the class-insensitive homophily, NaN where it isn't defined."""
        num_classes = self.counts.size(0)
        if num_classes < 2 or not bool(self.counts.any()):
            return math.nan
        alike = self.counts.diagonal() / self.counts.sum(dim=1).clamp(min=1)
        known = self.labels[self.labels >= 0]
        share = torch.bincount(known, minlength=num_classes) / known.numel()
        return 1.0 - float((alike - share).clamp(min=0).sum()) / (num_classes - 1)

    def adjusted_homophily(self) -> float:
        """Return the edge homophily, corrected for chance; NaN where it isn't defined."""
        if self.joint is None:
            return math.nan
        chance = float(self.joint.sum(dim=1).square().sum())
        return (float(self.joint.trace()) - chance) / (1.0 - chance)

    def label_informativeness(self) -> float:
        """Return how much a neighbour's label tells, from 0 to 1; NaN where it isn't defined."""
        if self.joint is None:
            return math.nan
        return 2.0 - _entropy(self.joint) / _entropy(self.joint.sum(dim=1))

    def compatibility(self) -> Tensor:
        """Return the share of each class among the neighbours of each class: ``[C, C]``."""
        shares = self.counts / self.counts.sum(dim=1, keepdim=True).clamp(min=1)
        return shares.to(torch.float32)


def class_labels(data: Data) -> Tensor:
    """Return the class index of each node, or raise a :class:`GraphError`."""
    y = data.y
    if not isinstance(y, Tensor) or y.dim() != 1 or y.is_floating_point():
        got = "None" if y is None else f"{y.dtype} of shape {list(y.shape)}"
        raise GraphError(
            f"y must hold one class index per node (got {got}); mark unlabelled nodes with -1"
        )
    return y.to(torch.int64)


def _entropy(distribution: Tensor) -> float:
    return -float(torch.special.xlogy(distribution, distribution).sum())
