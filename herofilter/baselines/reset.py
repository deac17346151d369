"""Resetting the parameters of a module's layers."""

from torch import nn


def reset_children(module: nn.Module) -> None:
    """Reset all layers of ``module`` that have parameters, in the order in which they were made.

    Example:
        >>> import torch
        >>> layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> before = layers[0].weight.clone()
        >>> reset_children(layers)
        >>> torch.equal(layers[0].weight, before)
        False
    """
    for layer in module.children():
        if isinstance(layer, nn.ModuleList):
            reset_children(layer)
            continue
        reset = getattr(layer, "reset_parameters", None)
        if callable(reset):
            reset()
