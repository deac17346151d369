"""A codebook: centroids of all nodes' vectors, updated by exponential moving averages."""

import math

import torch
from torch import Tensor, nn


class Codebook(nn.Module):
    r"""Online k-means with exponential moving averages, updated at each training step.

    With the nodes :math:`C_i` that are nearest to centroid i,

    .. math::
        n_i \leftarrow \gamma n_i + (1 - \gamma) |C_i|, \qquad
        \mathbf{m}_i \leftarrow \gamma \mathbf{m}_i + (1 - \gamma) \sum_{v \in C_i} \mathbf{h}_v,
        \qquad \boldsymbol{\mu}_i = \mathbf{m}_i / n_i

    At the first update the centroids are initialised by farthest-first traversal: the node that
    is farthest from the mean, then each time the one that is farthest from all chosen before.
    Centroids have no gradient.

    Args:
        num_centroids: number of centroids.
        channels: width h of the vectors.
        decay: γ, the weight of the previous averages.

    Shapes:
        - hidden: ``[n, h]``
        - centroids: ``[num_centroids, h]``; size: ``[num_centroids]``
    """

    centroids: Tensor
    size: Tensor
    total: Tensor
    started: Tensor

    def __init__(self, num_centroids: int, channels: int, decay: float = 0.9) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("centroids", torch.zeros(num_centroids, channels))
        self.register_buffer("total", torch.zeros(num_centroids, channels))
        self.register_buffer("size", torch.ones(num_centroids))
        self.register_buffer("started", torch.tensor(False))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw random centroids, which the first update replaces."""
        # drawn on the CPU, so that they are the same on every device
        self.centroids = torch.randn(self.centroids.shape).to(self.centroids.device)
        self.total = self.centroids.clone()
        self.size = torch.ones_like(self.size)
        self.started = torch.zeros_like(self.started)

    @torch.no_grad()
    def update(self, hidden: Tensor) -> None:
        """Update the averages with the vectors of all nodes."""
        if not self.started:
            self.centroids = farthest_first(hidden, self.size.numel())
        nearest = self.nearest(hidden)
        size = torch.bincount(nearest, minlength=self.size.numel()).to(hidden.dtype)
        total = torch.zeros_like(self.total).index_add_(0, nearest, hidden)
        if self.started:
            size = self.decay * self.size + (1 - self.decay) * size
            total = self.decay * self.total + (1 - self.decay) * total
        mean = total / size.clamp(min=1e-12).unsqueeze(1)
        # an empty cluster keeps its centroid
        self.centroids = torch.where(size.unsqueeze(1) > 0, mean, self.centroids)
        self.size, self.total, self.started = size, total, torch.ones_like(self.started)

    def nearest(self, hidden: Tensor) -> Tensor:
        """Return the index of the nearest centroid of each vector: ``[n]``."""
        # the squared length of the vector itself is the same for all centroids
        distance = self.centroids.square().sum(1) - 2 * hidden @ self.centroids.t()
        return distance.argmin(1)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        r"""Return the attention of nodes to all nodes, each replaced by its centroid.

        Members of a cluster share a key, so that a cluster is weighted by its size:

        .. math::
            \mathrm{softmax}(\mathbf{q}_v \mathbf{K}^\top / \sqrt{d} + \log \mathbf{n}) \mathbf{V}

        Shapes:
            - query: ``[b, a, d]``; key and value, made from the centroids: ``[k, a, d]``
            - output: ``[b, a, d]``
        """
        # [a, b, k]
        score = query.transpose(0, 1) @ key.permute(1, 2, 0) / math.sqrt(query.size(-1))
        weight = (score + self.size.log()).softmax(-1)
        return (weight @ value.transpose(0, 1)).transpose(0, 1)


def farthest_first(hidden: Tensor, count: int) -> Tensor:
    """Return ``count`` rows of ``hidden`` by farthest-first traversal; ties go to the first.

    Example:
        >>> farthest_first(torch.tensor([[0.0], [1.0], [5.0], [9.0]]), 3).flatten().tolist()
        [9.0, 0.0, 5.0]
    """
    distance = (hidden - hidden.mean(0)).square().sum(1)
    chosen = []
    for step in range(count):
        row = hidden[distance.argmax()]
        chosen.append(row)
        to_row = (hidden - row).square().sum(1)
        distance = to_row if step == 0 else torch.minimum(distance, to_row)
    return torch.stack(chosen)
