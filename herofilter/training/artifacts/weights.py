"""What a model learned, apart from the graph it learned it on."""

from collections.abc import Mapping

import torch
from torch import Tensor

from herofilter.errors import GraphError
from herofilter.nn import HeroFilter, NodeClassifier
from herofilter.patchers import SpectralPatcher
from herofilter.spectral.filters import AdaptiveFilter
from herofilter.spectral.filters.interpolation import interpolate_weights

# made for each graph: which nodes are in a patch, and which labels may be read
OF_THE_GRAPH = ("patcher.index", "patcher.entries", "labels.known")
EIGENVALUES = "patcher.eigenvalues"
# chosen by a filter as it was before the last steps, so that weights alone don't tell it
CHOSEN = "patcher.index"
_SAME = 1e-5


def weights_of(model: NodeClassifier, with_patches: bool = False) -> dict[str, Tensor]:
    """Return copies of the weights, without what belongs to the graph.

    A learned filter has its weights at the graph's eigenvalues, which are therefore kept
    beside them. Its patches may be older than its weights: ``with_patches`` keeps them too, for
    the same predictions on the same graph.

    Example:
        >>> from herofilter.data import csbm
        >>> model = HeroFilter(32, 3, SpectralPatcher(csbm(num_nodes=100)))
        >>> sorted(name for name in weights_of(model) if name.startswith("patcher"))
        ['patcher.eigenvalues', 'patcher.weights.0']
    """
    state = {
        name: value.detach().clone()
        for name, value in model.state_dict().items()
        if name not in OF_THE_GRAPH
    }
    patcher = _learned(model)
    if patcher is None:
        return state
    state[EIGENVALUES] = patcher.eigenvalues.clone()
    return {**state, CHOSEN: patcher.index.clone()} if with_patches else state


def load_weights(
    model: NodeClassifier, weights: Mapping[str, Tensor], same_graph: bool = False
) -> None:
    """Put weights that :func:`weights_of` gave into a model built for the same or another graph.

    An adaptive filter's weights are read off at the new graph's eigenvalues, linearly between
    the old ones. The patches are then chosen anew, unless ``same_graph`` says that those which
    may be beside the weights are of this graph.
    """
    apart = (EIGENVALUES, *OF_THE_GRAPH)
    state = {name: value for name, value in weights.items() if name not in apart}
    patcher = _learned(model)
    before = weights.get(EIGENVALUES)
    if patcher is not None and before is not None:
        for number, (kind, start) in enumerate(zip(patcher.filters, patcher.weights, strict=True)):
            name = f"patcher.weights.{number}"
            if isinstance(kind, AdaptiveFilter) and name in state:
                state[name] = _moved(state[name], before, patcher.eigenvalues, start.detach())
    model.expect_scaler(state)
    built = model.state_dict()
    state |= {name: built[name] for name in OF_THE_GRAPH if name in built}
    wrong = sorted(
        name
        for name in built.keys() | state.keys()
        if name not in built or name not in state or built[name].shape != state[name].shape
    )
    if wrong:
        raise GraphError(
            f"the weights must fit the model that is built for the graph (got others for "
            f"{', '.join(wrong)}); give the same settings, the same kind of features and, for a "
            "model that learns a vector per node, the same nodes"
        )
    model.load_state_dict(state)
    model.restore()
    if patcher is not None and same_graph and CHOSEN in weights:
        patcher.index.copy_(weights[CHOSEN])


def _learned(model: NodeClassifier) -> SpectralPatcher | None:
    patcher = model.patcher if isinstance(model, HeroFilter) else None
    return patcher if isinstance(patcher, SpectralPatcher) else None


def _moved(weights: Tensor, before: Tensor, now: Tensor, start: Tensor) -> Tensor:
    if before.shape == now.shape and torch.allclose(before, now, rtol=0, atol=_SAME):
        return weights
    # a graph without edges has no frequencies, and so no weights to read off
    return interpolate_weights(now, before, weights) if before.numel() and now.numel() else start
