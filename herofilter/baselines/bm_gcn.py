"""BM-GCN: edges are weighted by how similarly the classes of their ends link to classes."""

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot
from torch_geometric.data import Data

from herofilter.baselines.adjacency import Propagation, adjacency, propagation
from herofilter.baselines.edge_attention import edge_dots, edge_product, edge_softmax
from herofilter.baselines.edge_list import Edges
from herofilter.baselines.feature_model import FeatureModel
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import GraphError
from herofilter.nn.classifier import select
from herofilter.nn.head import Head
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear

_TINY = 1e-9


def block_matrix(propagate: Propagation, labels: Tensor) -> Tensor:
    r"""Return the share of class b among the neighbours of class a: ``[C, C]``.

    .. math::
        \mathbf{H} = (\mathbf{Y}^\top \mathbf{A} \mathbf{Y}) \oslash
        (\mathbf{Y}^\top \mathbf{A} \mathbf{1})

    Args:
        propagate: the product with **A**.
        labels: **Y** ``[n, C]``, whose rows sum to one.
    """
    return _normalise_rows(labels.t() @ propagate(labels))


def _normalise_rows(matrix: Tensor) -> Tensor:
    return matrix / matrix.sum(1, keepdim=True).clamp(min=_TINY)


def looped_edges(data: Data, beta: float) -> Edges:
    """Return the graph's edges with a self-loop of weight ``beta`` at each node, cached."""
    loops = beta * sp.eye_array(int(data.num_nodes or 0), format="csr")
    return cached_on_graph(
        data,
        ("looped edges", beta),
        lambda: Edges.of(
            sp.csr_array(adjacency(data, loops=False) + loops), data.edge_index.device
        ),
    )


class BMGCN(FeatureModel):
    r"""Block modelling-guided GCN (He et al., AAAI 2022).

    An MLP gives soft labels :math:`\mathbf{B}`; :math:`\mathbf{Y}` are the same, but the true
    ones on training nodes. Classes are similar if they link to the same classes, and edges between
    nodes of similar classes get larger weights:

    .. math::
        \mathbf{H} = (\mathbf{Y}^\top \mathbf{A} \mathbf{Y}) \oslash
        (\mathbf{Y}^\top \mathbf{A} \mathbf{1}), \qquad
        \mathbf{Q} = \mathbf{H} \mathbf{H}^\top, \qquad
        \mathbf{S} = \mathrm{softmax}((\mathbf{A} + \beta \mathbf{I}) \odot
        (\mathbf{B} \mathbf{Q} \mathbf{B}^\top)), \qquad
        \mathbf{Z}^{(l+1)} = \mathrm{ReLU}(\mathbf{S} \mathbf{Z}^{(l)} \mathbf{W}_1^{(l)}
        + \mathbf{Z}^{(l)} \mathbf{W}_2^{(l)})

    The rows of **Q** are normalised to sum to one, and the softmax runs over the edges into a node;
    only pairs with an edge have entries. The loss of the MLP on the training nodes is added to that
    of the output.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 2.
        dropout: before every layer but the first.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        beta: β, the weight of a self-loop; 0 for none.
        enhance: what the diagonal of **Q** is multiplied by.
        loss_weight: weight of the MLP's loss.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    full_batch = True
    known: Tensor | None

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        beta: float = 0.0,
        enhance: float = 1.0,
        loss_weight: float = 1.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, dropout, input_dropout, num_embeddings)
        self.out_channels = out_channels
        self.beta, self.enhance, self.loss_weight = beta, enhance, loss_weight
        self.mlp = nn.ModuleList(
            [
                FeatureLinear(self.in_channels, hidden_channels),
                Head(hidden_channels, hidden_channels, out_channels, 1, dropout),
            ]
        )
        # each has the weights for neighbours and those for the node itself side by side
        widths = [*[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList([FeatureLinear(self.in_channels, 2 * widths[0])])
        self.layers.extend(nn.Linear(hidden_channels, 2 * width) for width in widths[1:])
        # labels belong to the graph: a saved model doesn't have them
        self.register_buffer("known", None, persistent=False)
        self._soft_logits: Tensor | None = None

    def show_labels(self, labels: Tensor) -> None:
        self.known = labels.to(self.device)

    def auxiliary_loss(self) -> Tensor | None:
        logits, self._soft_logits = self._soft_logits, None
        if logits is None or self.known is None or not bool((self.known >= 0).any()):
            return None
        return self.loss_weight * cross_entropy(logits, self.known, ignore_index=-1)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.features(data)
        first, second = self.mlp
        logits = second(first(x).relu())
        if self.training:
            self._soft_logits = logits
        edges, weight = self.edge_weights(data, logits.softmax(1))
        for number, layer in enumerate(self.layers):
            if number:
                x = self.dropout(x.relu())
            neighbours, ego = layer(x).chunk(2, dim=1)
            x = edge_product(edges, weight, neighbours.unsqueeze(1)).squeeze(1) + ego
        return select(x, nodes)

    def edge_weights(self, data: Data, soft: Tensor) -> tuple[Edges, Tensor]:
        """Return the edges, self-loops among them, and **S** on them: ``[E, 1]``."""
        edges = looped_edges(data, self.beta)
        similarity = self.similarity(data, soft)
        score = edge_dots(edges, (soft @ similarity).unsqueeze(1), soft.unsqueeze(1))
        return edges, edge_softmax(edges, edges.weight.unsqueeze(1) * score)

    def similarity(self, data: Data, soft: Tensor) -> Tensor:
        """Return **Q**, the similarity of classes by the classes they link to: ``[C, C]``."""
        block = block_matrix(propagation(data, "none", loops=False), self.labels(soft))
        enhanced = 1 + (self.enhance - 1) * torch.eye(self.out_channels, device=soft.device)
        return _normalise_rows((block @ block.t()) * enhanced)

    def labels(self, soft: Tensor) -> Tensor:
        """Return the soft labels, with the true ones in the rows of training nodes: ``[n, C]``."""
        if self.known is None:
            return soft
        if self.known.numel() != soft.size(0):
            raise GraphError(
                f"the labels shown must be those of the graph's {soft.size(0)} nodes "
                f"(got {self.known.numel()}); call show_labels with -1 where there is none"
            )
        true = one_hot(self.known.clamp(min=0), self.out_channels).to(soft.dtype)
        return torch.where((self.known >= 0).unsqueeze(1), true, soft)


@register_model(
    "bm-gcn",
    paper="He et al. (AAAI 2022)",
    needs="the edges, and a weight for each",
    scales=True,
    options={"alpha": (0.0, 0.5, 1.0)},
)
def build_bm_gcn(data: Data, config: Config, spec: GraphSpec) -> BMGCN:
    """Build a BM-GCN for a graph."""
    return BMGCN(*arguments(data, config, spec), beta=config.baseline.alpha)
