"""A network for a server: the model without the graph, and the inputs made from the graph."""

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.errors import ConfigError
from herofilter.memory import check_memory
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.herofilter import HeroFilter
from herofilter.nn.score_scale import normalise_scores
from herofilter.nn.tokens import join_tokens


class ServedModel(nn.Module):
    """The part of a network that needs no graph: from raw features of patches to probabilities.

    Features that were standardised in training are standardised here.

    Args:
        network: a HeroFilter that reads features.
        temperature: divides the logits.

    Shapes:
        - tokens_x: ``[b, p, f]``, features of the members of each patch
        - scale: ``[b, p]``, normalised scores, 0 at padding
        - labels: ``[b, p]``, training labels of the members, or the number of classes where a label
          is unknown; only with label tokens
        - summary: ``[b, s, h]``, summary tokens and class shares; only with such
        - output: ``[b, C]``
    """

    def __init__(self, network: HeroFilter, temperature: float = 1.0) -> None:
        super().__init__()
        self.network = network
        self.temperature = temperature

    def forward(
        self,
        tokens_x: Tensor,
        scale: Tensor,
        labels: Tensor | None = None,
        summary: Tensor | None = None,
    ) -> Tensor:
        if self.network.scaler is not None:
            tokens_x = self.network.scaler(tokens_x)
        # [b, p, f] -> [p, b, h]
        members = self.network.hidden(tokens_x).transpose(0, 1)
        by_summary = None if summary is None else summary.transpose(0, 1)
        logits = self.network.mix(
            join_tokens(members, scale, self.network.labels, labels, by_summary)
        )
        return (logits / self.temperature).softmax(1)


@torch.no_grad()
def serving_inputs(
    network: NodeClassifier, data: Data, nodes: Tensor | None = None
) -> dict[str, np.ndarray]:
    """Return the inputs of an exported network for ``nodes`` (all when None).

    Summaries are sums over all nodes, and scores come from the edges, so that a server without the
    graph can't compute them. A batch job calls this once for many nodes and stores the result.

    Args:
        network: the network that was exported.
        data: the graph that it was built for, prepared as for training.
        nodes: ``[b]``, node indices.

    Shapes:
        As those of :class:`ServedModel`, by the names of its arguments.

    Example:
        >>> from herofilter.data import csbm
        >>> from herofilter.patchers import FastPatcher
        >>> data = csbm(num_nodes=60, num_classes=3)
        >>> network = HeroFilter(32, 3, patcher=FastPatcher(patch_size=4)(data))
        >>> inputs = serving_inputs(network, data, torch.tensor([7, 8]))
        >>> {name: array.shape for name, array in inputs.items()}
        {'tokens_x': (2, 4, 32), 'scale': (2, 4)}
    """
    network = servable(network)
    network.check_same_graph(data)
    network.eval()
    patches = network.patches(nodes)
    count = patches.index.numel()
    check_memory(
        4 * count * data.num_features, f"features of {count} tokens", "give fewer nodes at a time"
    )
    features = select(data.x, patches.index.clamp(min=0).flatten())
    if features.layout == torch.sparse_csr:
        features = features.to_dense()
    # [b·p, f] -> [b, p, f]
    tokens_x = features.view(*patches.index.shape, data.num_features)
    inputs = {
        "tokens_x": tokens_x.masked_fill(~patches.mask.unsqueeze(-1), 0),
        "scale": normalise_scores(patches, network.config.score_norm),
    }
    if network.labels is not None:
        inputs["labels"] = network.labels.look_up(patches.index, patches.nodes)
    if network.num_summaries:
        summary = network.summaries(network.hidden(network.scale_features(data).x), nodes)
        if summary is not None:
            inputs["summary"] = summary.transpose(0, 1)
    return {name: np.ascontiguousarray(value.numpy()) for name, value in inputs.items()}


def servable(network: NodeClassifier) -> HeroFilter:
    """Return the network, or raise a :class:`ConfigError` if no server can run it."""
    if not isinstance(network, HeroFilter):
        raise ConfigError(
            "network must be a HeroFilter, which sees the graph through patches alone "
            f"(got {type(network).__name__}); train herofilter or fast-herofilter instead"
        )
    if network.stem is not None and network.stem.embedding is not None:
        raise ConfigError(
            "network must read features (got one with a learned vector per node, which no other "
            "node has); store its predictions for all nodes instead"
        )
    return network
