"""Where a model is trained, and the graph brought there as the model reads it."""

import torch
from torch_geometric.data import Data

from herofilter.data.placement import on_device
from herofilter.devices import CPU, find_device
from herofilter.errors import ConfigError
from herofilter.nn.classifier import NodeClassifier
from herofilter.training.prepare import fit_scaler, prepare_features
from herofilter.training.team import Team


def training_device(model: NodeClassifier, name: str, team: Team | None = None) -> torch.device:
    """Return where a model is trained: trees are grown on the CPU, and teams train there."""
    device = find_device(name)
    if team is not None and device != CPU:
        raise ConfigError(
            f"device must be cpu where several processes train together (got {device.type}); "
            "set device=cpu"
        )
    return CPU if model.boosted else device


def place(model: NodeClassifier, data: Data, scaling: str, device: torch.device) -> Data:
    """Return the graph as the model sees it, and move both to a device.

    What scales the features becomes part of the model.
    """
    model.feature_scaling, model.scaler = scaling, None
    data = model.scale_features(prepare_features(on_device(data, CPU), scaling, model.by_rows))
    # degrees, which stand in for absent features, are standardised already
    if scaling == "standard" and not data.get("featureless", False):
        model.scaler = fit_scaler(data.x, data.train_mask.nonzero().view(-1))
    model.to(device)
    return model.scale_features(on_device(data, device))
