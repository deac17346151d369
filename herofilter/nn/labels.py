"""Label tokens: the training labels of the other nodes in a patch as learned vectors."""

import torch
from torch import Tensor, nn

from herofilter.nn.dropout import Dropout


class LabelTokens(nn.Module):
    """A learned vector per class, added to the tokens of training nodes in other nodes' patches.

    The label of the node itself is hidden wherever the node is in its patch. In training a share of
    the labels is hidden at random, so that the mixer doesn't rely on them alone. No label is known
    before :meth:`show` is called, and :meth:`show` must be given training labels only.

    Args:
        num_nodes: number of nodes of the graph.
        num_classes: number of classes.
        channels: width of a token.
        mask: share of the labels that is hidden in training.
    """

    known: Tensor

    def __init__(self, num_nodes: int, num_classes: int, channels: int, mask: float = 0.5) -> None:
        super().__init__()
        self.unknown = num_classes
        self.embedding = nn.Embedding(num_classes + 1, channels)
        self.mask = Dropout(mask)
        self.register_buffer("known", torch.full((num_nodes,), num_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.embedding.weight, std=0.1)

    def show(self, labels: Tensor) -> None:
        """Store the labels that may be read; -1 stands for those that may not."""
        self.known = torch.where(labels >= 0, labels, self.unknown).to(self.known.device)

    def look_up(self, index: Tensor, nodes: Tensor) -> Tensor:
        """Return the label shown at each position of the patches of ``nodes``: ``[b, p]``."""
        hidden = (index < 0) | (index == nodes.unsqueeze(1))
        if self.training:
            hidden = hidden | (self.mask(torch.ones(index.shape, device=index.device)) == 0)
        return self.known[index.clamp(min=0)].masked_fill(hidden, self.unknown)

    def forward(self, shown: Tensor) -> Tensor:
        """Return the vectors of the labels shown: ``[b, p]`` to ``[b, p, h]``."""
        vectors: Tensor = self.embedding(shown)
        return vectors
