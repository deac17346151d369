"""LINKX: an MLP on a node's features and on its row of the adjacency."""

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import LINKX as PyGLINKX, MLP as PyGMLP

from herofilter.baselines.adjacency import weighted_edges
from herofilter.baselines.feature_model import FeatureModel
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import GraphError
from herofilter.nn.classifier import select
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.sparse import sparse_product
from herofilter.nn.stem import FeatureLinear
from herofilter.spectral.compressed_rows import CompressedRows, SparseMatrix
from herofilter.spectral.products import placed_of


def adjacency_rows(data: Data) -> SparseMatrix:
    """Return the adjacency as sparse features ``[n, n]``, cached on the graph."""
    device = data.edge_index.device
    return cached_on_graph(
        data, ("adjacency rows",), lambda: placed_of(weighted_edges(data), device)
    )


class LINKX(FeatureModel):
    r"""Separate embeddings of adjacency and features (Lim et al., NeurIPS 2021).

    .. math::
        \mathbf{H}_A = \mathbf{A} \mathbf{W}_A, \qquad
        \mathbf{H}_X = \mathbf{X} \mathbf{W}_X, \qquad
        \mathbf{Y} = \mathrm{MLP}_f(\mathrm{ReLU}(\mathbf{W} [\mathbf{H}_A \| \mathbf{H}_X]
        + \mathbf{H}_A + \mathbf{H}_X))

    It has the layers of :class:`torch_geometric.nn.LINKX`, but reads only the rows of the nodes in
    the mini-batch. A row of :math:`\mathbf{W}_A` belongs to a node of the graph, so that the model
    can't be applied to another graph.

    Args:
        num_nodes: n, the number of nodes.
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of layers of :math:`\mathrm{MLP}_f`.
        dropout: before every layer of :math:`\mathrm{MLP}_f` but the first.
        input_dropout: on the features and on the rows of the adjacency.
        num_embeddings: learned vectors for nodes without features; 0 for none.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    def __init__(
        self,
        num_nodes: int,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, dropout, input_dropout, num_embeddings)
        self.num_nodes = num_nodes
        self.net = PyGLINKX(num_nodes, self.in_channels, hidden_channels, out_channels, num_layers)
        # the same map, but one that takes sparse features
        self.net.node_mlp = FeatureLinear(self.in_channels, hidden_channels)
        for norm in self.net.final_mlp.norms:
            # the last batch may have a single node
            norm.allow_single_element = True

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        if data.num_nodes != self.num_nodes:
            raise GraphError(
                f"the graph must be the one the model was built for, with {self.num_nodes} nodes, "
                f"since it learned a vector for each (got {data.num_nodes}); train anew"
            )
        net = self.net
        rows = self.dropped_rows(adjacency_rows(data), nodes)
        out = sparse_product(rows, net.edge_lin.weight) + net.edge_lin.bias
        x = net.node_mlp(self.features(data, nodes))
        out = out + net.cat_lin1(out) + x + net.cat_lin2(x)
        return self.final(net.final_mlp, out.relu())

    def dropped_rows(self, rows: SparseMatrix, nodes: Tensor | None) -> SparseMatrix:
        """Return the rows of ``nodes`` (all when None) after dropout."""
        if isinstance(rows, CompressedRows):
            rows = rows if nodes is None else rows.take(nodes)
            return rows.with_value(self.input_dropout(rows.value))
        dropped: Tensor = self.input_dropout(select(rows, nodes))
        return dropped

    def final(self, mlp: PyGMLP, x: Tensor) -> Tensor:
        """Return what ``mlp(x)`` would, with dropout from the seeded generator."""
        for number, layer in enumerate(mlp.lins):
            if number:
                x = self.dropout(mlp.norms[number - 1](x.relu()))
            x = layer(x)
        return x


@register_model(
    "linkx",
    paper="Lim et al. (NeurIPS 2021)",
    needs="the edges, and a learned vector per node",
    scales=True,
    batches=True,
)
def build_linkx(data: Data, config: Config, spec: GraphSpec) -> LINKX:
    """Build a LINKX for a graph."""
    return LINKX(spec.num_nodes, *arguments(data, config, spec))
