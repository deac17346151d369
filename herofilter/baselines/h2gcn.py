"""H2GCN: separate embeddings of a node, its neighbours and its two-hop neighbours."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.reset import reset_children
from herofilter.baselines.two_hop_adjacency import two_hop_adjacency
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import Stem


class H2GCN(NodeClassifier):
    r"""Ego and neighbour embeddings, two hops, all rounds concatenated (Zhu et al., NeurIPS 2020).

    .. math::
        \mathbf{R}^{(0)} = \mathrm{ReLU}(\mathbf{X} \mathbf{W}_e), \qquad
        \mathbf{R}^{(k)} = [\bar{\mathbf{A}}_1 \mathbf{R}^{(k-1)} \,\|\,
        \bar{\mathbf{A}}_2 \mathbf{R}^{(k-1)}], \qquad
        \mathbf{Y} = [\mathbf{R}^{(0)} \| \dots \| \mathbf{R}^{(K)}] \mathbf{W}_c

    :math:`\bar{\mathbf{A}}_1` connects neighbours and :math:`\bar{\mathbf{A}}_2` nodes at distance
    exactly two, both without self-loops and symmetrically normalised. Rounds have neither weights
    nor a nonlinearity. Only the first matrix has the weights of edges.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the first embedding; each round doubles it.
        out_channels: number of classes.
        hops: K, the number of rounds.
        dropout: before the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    full_batch = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        hops: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
    ) -> None:
        super().__init__()
        self.hops = hops
        self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
        self.dropout = Dropout(dropout)
        # 1 + 2 + 4 + … widths
        self.classifier = nn.Linear((2 ** (hops + 1) - 1) * hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        one_hop, two_hop = propagation(data, "sym", loops=False), two_hop_adjacency(data)
        rounds = [self.stem(data.x)]
        for _ in range(self.hops):
            # [n, 2**k * h]
            rounds.append(torch.cat([one_hop(rounds[-1]), two_hop(rounds[-1])], dim=1))
        # [b, (2**(K + 1) - 1) * h]
        joined = torch.cat([select(part, nodes) for part in rounds], dim=1)
        logits: Tensor = self.classifier(self.dropout(joined))
        return logits


@register_model(
    "h2gcn",
    paper="Zhu et al. (NeurIPS 2020)",
    needs="all pairs of nodes two steps apart",
    scales=False,
    options={"hops": (1, 2)},
)
def build_h2gcn(data: Data, config: Config, spec: GraphSpec) -> H2GCN:
    """Build an H2GCN for a graph."""
    return H2GCN(*arguments(data, config, spec)._replace(num_layers=config.baseline.hops or 2))
