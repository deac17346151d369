"""VCR-Graphormer: a transformer over tokens ranked by PageRank, and over virtual nodes."""

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.baselines.graph_partition import Partition, partition, rank_groups
from herofilter.baselines.token_encoder import TokenEncoder
from herofilter.baselines.token_transformer import TokenTransformer
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.data.placement import on_device
from herofilter.devices import CPU
from herofilter.errors import ConfigError
from herofilter.nn.classifier import select
from herofilter.nn.registry import arguments, register_model
from herofilter.patchers import FastPatcher, Patches

REACH = 64
Tokens = tuple[Tensor, Tensor]


class ShownLabels(nn.Module):
    """The training labels that a model may read; -1 for all others.

    Args:
        num_nodes: number of nodes of the graph.
    """

    known: Tensor

    def __init__(self, num_nodes: int) -> None:
        super().__init__()
        self.register_buffer("known", torch.full((num_nodes,), -1))


class VCRGraphormer(TokenTransformer):
    r"""Virtual connection ranking graph transformer (Fu et al., ICLR 2024).

    A node's tokens are its features and those of its neighbourhoods hop by hop, then the nodes
    and the virtual nodes that its personalised PageRank :math:`\mathbf{r}_v` reaches most:

    .. math::
        (\tilde{\mathbf{A}}^k \mathbf{X})_v \Vert 1, \qquad
        r_{v,u} (\mathbf{x}_u \Vert 1), \qquad
        r_{v,C} (\bar{\mathbf{x}}_C \Vert 1), \qquad
        r_{v,c} (\mathbf{e}_c \Vert 1), \qquad r_{v,C} = \sum_{u \in C} r_{v,u}

    for hops k, other nodes u, clusters C and classes c. A walk that takes the virtual connection
    to a cluster goes on to any of its members alike, so that the cluster is one token with their
    mean :math:`\bar{\mathbf{x}}_C`; :func:`clusters` stands in for METIS. A class is connected to
    its training nodes and has a learned vector :math:`\mathbf{e}_c`. A walk from v never takes
    the connection of v's own label, which test nodes don't have either. Weights of nodes are
    divided by their largest, those of virtual nodes by their sum. The transformer over these
    tokens and the read-out are those of :class:`TokenEncoder`.

    Labels are those given to :meth:`show_labels`; on a graph with another number of nodes none
    are known. See :meth:`~TokenTransformer.for_graph` on ``full_batch``.

    Args:
        in_channels: width of the features.
        hidden_channels: width of a token, a multiple of ``heads``.
        out_channels: number of classes.
        num_layers: transformer layers.
        dropout: in the transformer and the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        num_nodes: nodes whose labels may be shown.
        hops: K, at least 1.
        heads: heads of attention.
        num_tokens: at most so many tokens of each of the last three kinds.
        alpha: the restart probability of PageRank.
        num_clusters: at most so many clusters.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 1,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        num_nodes: int = 0,
        hops: int = 3,
        heads: int = 2,
        num_tokens: int = 4,
        alpha: float = 0.5,
        num_clusters: int = 16,
    ) -> None:
        if num_tokens < 1 or num_clusters < 1:
            raise ConfigError(
                "num_tokens and num_clusters must be at least 1 "
                f"(got {num_tokens} and {num_clusters})"
            )
        if not 0 < alpha <= 1:
            raise ConfigError(f"alpha must be above 0 and at most 1 (got {alpha:g})")
        super().__init__(in_channels, hidden_channels, hops, input_dropout, num_embeddings)
        self.num_tokens, self.alpha, self.num_clusters = num_tokens, alpha, num_clusters
        self.weight_vector = nn.Parameter(torch.empty(hidden_channels))
        self.class_vectors = nn.Parameter(torch.empty(out_channels, hidden_channels))
        self.labels = ShownLabels(num_nodes)
        self.encoder = TokenEncoder(hidden_channels, out_channels, num_layers, heads, dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.tokens.reset_parameters()
        # like a row of the weight of the features
        bound = 1 / math.sqrt(max(self.tokens.linear.in_channels, 1))
        nn.init.uniform_(self.weight_vector, -bound, bound)
        nn.init.normal_(self.class_vectors, std=0.1)
        self.encoder.reset_parameters()

    def show_labels(self, labels: Tensor) -> None:
        self.labels.known = labels.to(self.device)

    def sequence(self, data: Data, nodes: Tensor | None) -> Tokens:
        ranking = self.pagerank(data)
        index, score = select(ranking.index, nodes), select(ranking.score, nodes)
        hops = self.tokens(data, nodes) + self.weight_vector
        parts = [
            (hops, torch.ones(hops.shape[:2], dtype=torch.bool, device=hops.device)),
            self.node_tokens(data, index[:, 1:], score[:, 1:]),
            self.cluster_tokens(data, index, score),
        ]
        if self.labels.known.numel() == data.num_nodes:
            # without the first column, the node itself
            parts.append(self.class_tokens(index[:, 1:], score[:, 1:]))
        tokens, masks = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
        return tokens, masks

    def encode(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        logits: Tensor = self.encoder(tokens, mask)
        return logits

    def pagerank(self, data: Data) -> Patches:
        """Return the nodes with the largest PageRank from each node, itself first, cached."""
        size = min(1 + max(REACH, self.num_tokens), int(data.num_nodes or 0))
        patcher = FastPatcher(size, c=1 - self.alpha, self_loops=False)
        return cached_on_graph(
            data,
            ("pagerank", size, self.alpha),
            lambda: patcher(on_device(data, CPU)).to(data.edge_index.device),
        )

    def node_tokens(self, data: Data, index: Tensor, score: Tensor) -> Tokens:
        """Return the tokens of the nodes with the largest PageRank, and a mask."""
        index, score = index[:, : self.num_tokens], score[:, : self.num_tokens]
        needed, position = torch.unique(index.clamp(min=0), return_inverse=True)
        largest = score[:, :1].clamp(min=1e-12)
        return self.weighted_rows(
            self.tokens.project(data.x, needed), position, score / largest
        ), index >= 0

    def cluster_tokens(self, data: Data, index: Tensor, score: Tensor) -> Tokens:
        """Return the tokens of the clusters with the largest PageRank, and a mask."""
        clusters: Partition = cached_on_graph(
            data, ("clusters", self.num_clusters), lambda: partition(data, self.num_clusters)
        )
        position, share = rank_groups(clusters.member, clusters.mean.size(0), index, score)
        hidden = self.tokens.linear(self.tokens.input_dropout(clusters.mean))
        return self.group_tokens(hidden, position, share)

    def class_tokens(self, index: Tensor, score: Tensor) -> Tokens:
        """Return the tokens of the classes with the largest PageRank, and a mask."""
        count = self.class_vectors.size(0)
        position, share = rank_groups(self.labels.known, count, index, score)
        return self.group_tokens(self.class_vectors, position, share)

    def group_tokens(self, hidden: Tensor, position: Tensor, share: Tensor) -> Tokens:
        """Return the first ``num_tokens`` groups as tokens, and a mask of those with a share."""
        position, share = position[:, : self.num_tokens], share[:, : self.num_tokens]
        return self.weighted_rows(hidden, position, share), share > 0

    def weighted_rows(self, hidden: Tensor, position: Tensor, weight: Tensor) -> Tensor:
        """Return rows of ``hidden``, times their weights, as tokens.

        Shapes:
            - hidden: ``[m, h]``; position, weight: ``[b, t]``
            - output: ``[b, t, h]``
        """
        rows = (hidden + self.weight_vector).index_select(0, position.reshape(-1))
        return rows.view(*position.shape, hidden.size(1)) * weight.unsqueeze(-1) + self.tokens.bias


@register_model(
    "vcr-graphormer",
    paper="Fu et al. (ICLR 2024)",
    needs="the edges, 65 neighbours of each node, and n·(K+1)·f hop features up to 1 GiB",
    scales=True,
    batches=True,
    options={"hops": (2, 3, 5), "heads": (1, 2, 4), "tokens": (4, 8), "alpha": (0.2, 0.5)},
)
def build_vcr_graphormer(data: Data, config: Config, spec: GraphSpec) -> VCRGraphormer:
    """Build VCR-Graphormer for a graph."""
    width = config.model.hidden_channels
    return VCRGraphormer(
        *arguments(data, config, spec, least_layers=1),
        int(data.num_nodes or 0),
        hops=config.baseline.hops or 3,
        heads=config.baseline.heads or math.gcd(width, 2),
        num_tokens=config.baseline.tokens or 4,
        alpha=config.baseline.alpha or 0.5,
    ).for_graph(data)
