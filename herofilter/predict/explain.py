"""Why a node got its class: what each token of its patch adds to the prediction."""

from dataclasses import dataclass
from typing import TypedDict

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.errors import ConfigError, GraphError
from herofilter.nn import HeroFilter, NodeClassifier
from herofilter.patchers import LearnedPatcher, Patches
from herofilter.patchers.learned import thinned
from herofilter.predict.response import FilterCurve
from herofilter.training.predictor import Predictor
from herofilter.training.prepare import prepare_for

RESPONSE_POINTS = 200


@dataclass(frozen=True)
class TokenShare:
    """What one token adds to a prediction.

    Args:
        slot: where it stands in the patch: ``ego``, or the name of a filter or relation.
        node: the node that it shows; None for the summary of a filter or relation.
        score: what ranked the node, as the patcher gave it; None for a summary.
        label: the node's class if it is a training node, else None.
        change: by how much the log-probability of the predicted class falls without the token;
            negative for a token that speaks against the class.
        share: the change, scaled so that the moduli of all shares add up to one.
    """

    slot: str
    node: int | None
    score: float | None
    label: int | None
    change: float
    share: float


class GraphResponse(TypedDict):
    """The response of each filter at eigenvalues (or singular values) of the graph."""

    eigenvalues: list[float]
    filters: list[FilterCurve]


@dataclass(frozen=True)
class Explanation:
    """A prediction and what it rests on.

    Args:
        node: the node that was classified.
        predicted: its class.
        probability: of that class.
        tokens: all tokens but padding, those with the largest shares first.
        response: of the learned filters; None where patches are fixed.
    """

    node: int
    predicted: int
    probability: float
    tokens: tuple[TokenShare, ...]
    response: GraphResponse | None


@torch.no_grad()
def explain_node(
    network: NodeClassifier, data: Data, node: int, temperature: float = 1.0
) -> Explanation:
    r"""Return the prediction for a node and the share of each token in it.

    A token is left out by setting it to zero, which is how the mixer sees padding. With
    :math:`\mathbf{P} \setminus q` for the tokens without the one at position q, it changes

    .. math::
        \log p(\hat y \mid \mathbf{P}) - \log p(\hat y \mid \mathbf{P} \setminus q).

    Args:
        network: a trained HeroFilter, put into evaluation mode here.
        data: the graph that it was built for.
        node: the index of the node.
        temperature: divides the logits, as fitted on validation nodes.

    Example:
        >>> from herofilter.data import csbm
        >>> from herofilter.patchers import SpectralPatcher
        >>> data = csbm(num_nodes=60, num_classes=3)
        >>> network = HeroFilter(32, 3, patcher=SpectralPatcher(data, patch_size=4))
        >>> found = explain_node(network, data, 7)
        >>> sorted(token.slot for token in found.tokens)
        ['ego', 'filter-0', 'filter-0', 'filter-0', 'filter-0']
        >>> round(sum(abs(token.share) for token in found.tokens), 6)
        1.0
    """
    network = checked_network(network, node, temperature)
    return _explain(network.eval(), prepare_for(network, data), data, node, temperature)


def checked_network(network: NodeClassifier, node: int, temperature: float) -> HeroFilter:
    """Return a network whose predictions can be explained, or say why they can't."""
    if not isinstance(network, HeroFilter):
        raise ConfigError(
            "network must be a HeroFilter, whose tokens can be left out one by one "
            f"(got {type(network).__name__}); train herofilter or fast-herofilter instead"
        )
    if not 0 <= node < network.patcher.num_nodes:
        raise GraphError(f"node must be from 0 to {network.patcher.num_nodes - 1} (got {node})")
    if not temperature > 0:
        raise ConfigError(f"temperature must be above 0 (got {temperature:g})")
    return network


def explain_prediction(predictor: Predictor, node: int) -> Explanation:
    """Return a model's prediction for a node and the share of each token in it.

    Nothing is prepared or built again: what :func:`explain_node` tells is read off the network
    that predicts.

    Example:
        >>> from herofilter import Config, csbm
        >>> from herofilter.training.fit_model import fit_model, with_validation
        >>> data = with_validation(csbm(num_nodes=60, num_classes=3), 0.2)
        >>> config = Config().replace(epochs=3, patch_size=4)
        >>> model = fit_model(data, ("a", "b", "c"), "herofilter", config)
        >>> [type(token.share).__name__ for token in explain_prediction(model, 7).tokens][:1]
        ['float']
    """
    network = checked_network(predictor.network, node, predictor.temperature)
    return _explain(network, predictor.ready, predictor.data, node, predictor.temperature)


@torch.no_grad()
def _explain(
    network: HeroFilter, ready: Data, data: Data, node: int, temperature: float
) -> Explanation:
    rows = torch.tensor([node])
    # a single node is a single chunk
    (tokens,) = network.token_chunks(ready, rows)
    patches = network.patches(rows)
    present = torch.ones(tokens.size(0), dtype=torch.bool)
    present[: patches.patch_size] = patches.mask[0]
    positions = present.nonzero().flatten()
    # [p', 1 + t, h]: all tokens together, then all but one of the t that are no padding
    variants = tokens.repeat(1, 1 + positions.numel(), 1)
    variants[positions, torch.arange(1, 1 + positions.numel())] = 0
    log_probability = (network.mix(variants).double() / temperature).log_softmax(1)
    predicted = int(log_probability[0].argmax())
    full, *without = log_probability[:, predicted].tolist()
    shares = _shares(network, data, patches, positions, [full - rest for rest in without])
    return Explanation(
        node=node,
        predicted=predicted,
        probability=float(log_probability[0, predicted].exp()),
        tokens=tuple(sorted(shares, key=lambda token: -abs(token.share))),
        response=_response(network.patcher),
    )


def strongest_responses(response: GraphResponse | None) -> dict[str, tuple[float, float]]:
    """Return where the response of each learned filter is largest: the eigenvalue, and what it is.

    Example:
        >>> curve = FilterCurve(name="filter-0", response=[0.1, -0.7])
        >>> strongest_responses(GraphResponse(eigenvalues=[-1.0, 0.5], filters=[curve]))
        {'filter-0': (0.5, -0.7)}
    """
    if response is None or not response["eigenvalues"]:
        return {}
    found = {}
    for curve in response["filters"]:
        pairs = zip(response["eigenvalues"], curve["response"], strict=True)
        found[curve["name"]] = max(pairs, key=lambda pair: abs(pair[1]))
    return found


def _shares(
    network: HeroFilter, data: Data, patches: Patches, positions: Tensor, changes: list[float]
) -> list[TokenShare]:
    members = patches.index[0]
    summaries = _summary_names(network)
    # one entry per position; summaries are no nodes
    absent = [None] * len(summaries)
    slots = [slot.name for slot in patches.slots for _ in range(slot.start, slot.stop)]
    slots += summaries
    nodes = [*members.tolist(), *absent]
    scores = [*patches.score[0].tolist(), *absent]
    labels = [*_training_labels(data, members), *absent]
    total = sum(map(abs, changes)) or 1.0
    return [
        TokenShare(
            slots[position],
            nodes[position],
            scores[position],
            labels[position],
            change,
            change / total,
        )
        for position, change in zip(positions.tolist(), changes, strict=True)
    ]


def _training_labels(data: Data, nodes: Tensor) -> list[int | None]:
    mask = data.get("train_mask")
    # masks of several splits don't say which one the network was trained on
    if mask is None or mask.dim() != 1:
        return [None] * nodes.numel()
    shown = zip(data.y[nodes].tolist(), mask[nodes].tolist(), strict=True)
    return [label if known else None for label, known in shown]


def _summary_names(network: HeroFilter) -> tuple[str, ...]:
    summariser = network.summariser
    names: tuple[str, ...] = ()
    if isinstance(summariser, LearnedPatcher):
        names = summariser.names
    elif summariser is not None:
        names = summariser.relations
    count = 0 if network.shares is None else network.shares.num_tokens
    return (*names, *(f"labels-{number}" for number in range(count)))


def _response(patcher: LearnedPatcher | Patches) -> GraphResponse | None:
    if not isinstance(patcher, LearnedPatcher):
        return None
    values, curves = patcher.curves()
    kept = thinned(values.numel(), RESPONSE_POINTS)
    return GraphResponse(
        eigenvalues=values[kept].tolist(),
        filters=[
            FilterCurve(name=name, response=response[kept].tolist())
            for name, response in curves.items()
        ],
    )
