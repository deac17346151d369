"""The checks that every graph must pass before any work starts."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.disk_features import DiskFeatures
from herofilter.errors import GraphError

MASKS = ("train_mask", "val_mask", "test_mask")
# a graph may lack most classes of the one that a model was trained on
_MOST_CLASSES = 1000
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_graph(
    data: Data,
    *,
    split_required: bool = False,
    test_required: bool = True,
    labels_required: bool = True,
) -> None:
    """Raise a :class:`GraphError` that says what is wrong with ``data`` and how to cure it.

    Legal are graphs without edges or features, isolated nodes, self-loops, duplicate edges,
    directed edges, and unlabelled nodes (label -1).

    Args:
        data: the graph.
        split_required: whether the three masks must be there, one-dimensional and not empty.
        test_required: whether that goes for ``test_mask``, too.
        labels_required: whether there must be labels; without them there can't be masks either.

    Example:
        >>> from herofilter.data import csbm, select_split
        >>> check_graph(select_split(csbm(num_nodes=100), 0), split_required=True)
    """
    num_nodes = check_edges(data)
    _check_features(data.x, num_nodes)
    if data.get("y") is None and not (labels_required or split_required):
        return
    _check_labels(data.get("y"), num_nodes)
    needed = MASKS if test_required else MASKS[:2]
    _check_masks(data, num_nodes, needed if split_required else ())


def check_edges(data: Data) -> int:
    """Return the number of nodes; raise a :class:`GraphError` unless the edges fit them."""
    num_nodes = _check_size(data)
    _check_edges(data, num_nodes)
    return num_nodes


def _check_size(data: Data) -> int:
    if not isinstance(data.edge_index, Tensor):
        raise GraphError(
            "edge_index must be a tensor of shape [2, num_edges] "
            f"(got {type(data.edge_index).__name__}); "
            "for a graph without edges give torch.empty(2, 0, dtype=torch.long)"
        )
    num_nodes = data.num_nodes or 0
    if num_nodes < 1:
        raise GraphError("a graph must have at least one node (got 0); set x or num_nodes")
    return int(num_nodes)


def _check_edges(data: Data, num_nodes: int) -> None:
    edge_index = data.edge_index
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise GraphError(
            f"edge_index must have the shape [2, num_edges] (got {list(edge_index.shape)}); "
            "a list of pairs needs .t().contiguous()"
        )
    if edge_index.dtype != torch.long:
        raise GraphError(
            f"edge_index must be of type torch.int64 (got {edge_index.dtype}); "
            "convert it with .long()"
        )
    if edge_index.numel():
        low, high = int(edge_index.min()), int(edge_index.max())
        if low < 0 or high >= num_nodes:
            raise GraphError(
                f"edge_index must hold node indices from 0 to {num_nodes - 1} "
                f"(got {low} to {high}; the graph has {num_nodes} nodes); "
                "number the nodes from 0 or set num_nodes"
            )
    weight = data.get("edge_weight")
    if weight is None:
        return
    if weight.dim() != 1 or weight.size(0) != edge_index.size(1):
        raise GraphError(
            f"edge_weight must have one value per edge (got shape {list(weight.shape)}; "
            f"the graph has {edge_index.size(1)} edges); give a tensor of that length or None"
        )
    if weight.is_complex() or not bool(torch.isfinite(weight).all()) or bool((weight < 0).any()):
        raise GraphError(
            "edge_weight must be finite and not negative "
            f"(got {weight.min():g} to {weight.max():g}); drop or rescale the other edges"
        )


def _check_features(x: Tensor | None, num_nodes: int) -> None:
    if x is None:
        return
    if x.dim() != 2 or x.size(0) != num_nodes:
        raise GraphError(
            f"x must have one row of features per node (got shape {list(x.shape)}; "
            f"the graph has {num_nodes} nodes); for a graph without features give x=None"
        )
    if not x.is_floating_point():
        raise GraphError(
            f"x must be of a floating-point type (got {x.dtype}); convert it with .float()"
        )
    if isinstance(x, DiskFeatures):
        # checked when they were written
        return
    values = x if x.layout == torch.strided else x.values()
    bad = int((~torch.isfinite(values)).sum())
    if bad:
        raise GraphError(
            f"x must be finite (got {bad} values that are NaN or infinite); "
            "replace them, for instance with torch.nan_to_num(x)"
        )


def _check_labels(y: Tensor | None, num_nodes: int) -> None:
    if y is None:
        raise GraphError(
            "y must hold one class index per node (got None); mark unlabelled nodes with -1"
        )
    if y.is_floating_point() or y.dim() > 1:
        raise GraphError(
            f"y must be one class index per node (got {y.dtype} of shape {list(y.shape)}): "
            "regression and multi-label targets aren't supported; "
            "give integers in one dimension"
        )
    if y.dtype not in _INTEGERS:
        raise GraphError(f"y must be of an integer type (got {y.dtype}); convert it with .long()")
    if y.dim() != 1 or y.numel() != num_nodes:
        raise GraphError(
            f"y must have one label per node (got {y.numel()} labels; "
            f"the graph has {num_nodes} nodes); mark unlabelled nodes with -1 and set num_nodes"
        )
    if int(y.min()) < -1:
        raise GraphError(
            f"y must hold classes from 0 up, or -1 for unlabelled nodes (got {int(y.min())}); "
            "renumber the classes with torch.unique(y, return_inverse=True)"
        )
    most = max(num_nodes, _MOST_CLASSES)
    if int(y.max()) >= most:
        raise GraphError(
            f"y must hold classes numbered from 0 without large gaps (got {int(y.max())}; a graph "
            f"of {num_nodes} nodes has at most {most} classes); "
            "renumber the classes with torch.unique(y, return_inverse=True)"
        )
    classes = torch.unique(y[y >= 0]).numel()
    if classes < 2:
        raise GraphError(
            f"y must hold at least two classes (got {classes}); there is nothing to tell apart"
        )


def _check_masks(data: Data, num_nodes: int, required: tuple[str, ...]) -> None:
    masks = {name: data.get(name) for name in MASKS}
    missing = [name for name in required if masks[name] is None]
    if missing:
        raise GraphError(
            f"{', '.join(required)} must all be set (got no {', '.join(missing)}); "
            "make them with random_splits(data.y, num_splits=1)"
        )
    present = {name: mask for name, mask in masks.items() if mask is not None}
    for name, mask in present.items():
        _check_mask(name, mask, data.y, num_nodes, bool(required), name in required)
    names = list(present)
    for i, first in enumerate(names):
        for second in names[:i]:
            if present[first].shape != present[second].shape:
                raise GraphError(
                    f"{second} and {first} must have the same shape "
                    f"(got {list(present[second].shape)} and {list(present[first].shape)}); "
                    "make all three from the same splits"
                )
            shared = int((present[first] & present[second]).sum())
            if shared:
                raise GraphError(
                    f"{second} and {first} must not share nodes (got {shared} in both); "
                    "take them out of one of the two"
                )


def _check_mask(
    name: str, mask: Tensor, y: Tensor, num_nodes: int, one_split: bool, needed: bool
) -> None:
    if mask.dtype != torch.bool:
        raise GraphError(
            f"{name} must be of type torch.bool (got {mask.dtype}); "
            "make one from node indices with torch_geometric.utils.index_to_mask"
        )
    if mask.dim() not in (1, 2) or mask.size(0) != num_nodes:
        raise GraphError(
            f"{name} must have one entry per node (got shape {list(mask.shape)}; "
            f"the graph has {num_nodes} nodes); make masks with random_splits(data.y, 10)"
        )
    if one_split and mask.dim() == 2:
        raise GraphError(
            f"masks must be one-dimensional (got {list(mask.shape)}: {_splits(mask.size(1))}); "
            "choose one with load_dataset(name, split=0) or select_split(data, 0)"
        )
    if needed and not bool(mask.any()):
        raise GraphError(
            f"{name} must select at least one node (got none); "
            "make masks with random_splits(data.y, 10)"
        )
    unlabelled = int((mask.reshape(num_nodes, -1).any(dim=1) & (y < 0)).sum())
    if unlabelled:
        raise GraphError(
            f"{name} must select labelled nodes only (got {unlabelled} with the label -1); "
            "take them out with mask & (data.y >= 0)"
        )


def _splits(count: int) -> str:
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    text = words[count] if count < len(words) else str(count)
    return f"{text} split" if count == 1 else f"{text} splits"
