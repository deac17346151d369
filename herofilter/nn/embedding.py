"""Learned vectors of nodes, with dense or row-sparse gradients."""

from torch import Tensor, nn
from torch.nn.functional import embedding

from herofilter.nn.classifier import select


class NodeEmbedding(nn.Embedding):
    """One learned vector per node of a graph without features.

    With ``sparse`` the gradient of a look-up holds only the rows of the nodes that were read;
    without it, it is a full table, mostly zeros. The output is the same.

    Shapes:
        - nodes: ``[b]`` or None for all
        - output: ``[b, embedding_dim]``

    Example:
        >>> import torch
        >>> layer = NodeEmbedding(5, 2, sparse=True)
        >>> layer(torch.tensor([3])).sum().backward()
        >>> layer.weight.grad.coalesce().indices().tolist()
        [[3]]
    """

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.1)

    def forward(self, nodes: Tensor | None = None) -> Tensor:
        if nodes is None or not self.sparse:
            return select(self.weight, nodes)
        return embedding(nodes, self.weight, sparse=True)


def set_row_gradients(module: nn.Module, rows: bool) -> list[nn.Parameter]:
    """Switch row-sparse gradients of every :class:`NodeEmbedding` inside ``module`` on or off.

    Returns:
        The parameters of these layers.
    """
    layers = [layer for layer in module.modules() if isinstance(layer, NodeEmbedding)]
    for layer in layers:
        layer.sparse = rows
    return [parameter for layer in layers for parameter in layer.parameters()]
