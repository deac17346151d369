"""A graph on a device."""

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.disk_features import DiskFeatures


def on_device(data: Data, device: torch.device) -> Data:
    """Return the graph with its tensors on a device; itself if they are there.

    Features on disk stay there. Off the CPU sparse features become dense: not every device has
    sparse tensors, and a dense product is fast there.

    Example:
        >>> data = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))
        >>> on_device(data, torch.device("cpu")) is data
        True
    """
    away = {
        key: value
        for key, value in data.to_dict().items()
        if isinstance(value, Tensor)
        and not isinstance(value, DiskFeatures)
        and value.device != device
    }
    if not away:
        return data
    moved = copy.copy(data)
    for key, value in away.items():
        moved[key] = move(value, device)
    return moved


def move(values: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on a device; off the CPU a sparse one becomes dense."""
    if device.type != "cpu" and values.layout == torch.sparse_csr:
        values = values.to_dense()
    return values.to(device)
