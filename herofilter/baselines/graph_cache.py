"""Results that depend on the graph alone, computed once per graph and cached with it."""

from collections.abc import Callable
from typing import Any, TypeVar

from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric.data import Data

Result = TypeVar("Result")

# by edges and not by layer: the same layer may meet another graph
_CACHES: Any = WeakTensorKeyDictionary()


def cached_on_graph(
    data: Data,
    key: tuple[object, ...],
    compute: Callable[[], Result],
    reads_features: bool = True,
) -> Result:
    """Return the result of ``compute`` for this graph and ``key``, computed at the first call only.

    The cache lives as long as the tensor of edges. Replacing the edges, their weights or the
    features, or changing them in place, empties it; a result that doesn't read the features
    stays when those change.

    Args:
        data: a graph.
        key: names the result and all settings that it depends on.
        compute: makes the result from ``data``.
        reads_features: whether ``compute`` looks at the features.

    Example:
        >>> import torch
        >>> data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
        >>> cached_on_graph(data, ("list",), list) is cached_on_graph(data, ("list",), list)
        True
    """
    edge_weight = data.get("edge_weight")
    x = data.get("x") if reads_features else None
    tensors = (data.edge_index, edge_weight, x)
    # torch counts a tensor's changes in place
    versions = [None if tensor is None else tensor._version for tensor in tensors]
    state = (data.num_nodes, *versions)
    caches = _CACHES.setdefault(data.edge_index, {})
    entry = caches.get(reads_features)
    if entry is None or entry[0] != state or entry[1] is not edge_weight or entry[2] is not x:
        entry = (state, edge_weight, x, {})
        caches[reads_features] = entry
    results: dict[tuple[object, ...], Result] = entry[3]
    if key not in results:
        results[key] = compute()
    return results[key]
