"""Drawing the parameters of a module anew."""

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
        elif hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
