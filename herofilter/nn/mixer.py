"""The mixer block: one MLP across the patch, one across the features."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from herofilter.nn.drop_path import DropPath
from herofilter.nn.dropout import Dropout


class PatchNorm(nn.Module):
    r"""LayerNorm over patch positions: the paper's :math:`\mathrm{LayerNorm}(\mathbf{P}^\top)`.

    Args:
        patch_size: number of positions p.
        eps: added to the variance.

    Shapes:
        - input and output: ``[p, b, h]``
    """

    def __init__(self, patch_size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(patch_size, 1, 1))
        self.bias = nn.Parameter(torch.zeros(patch_size, 1, 1))

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        variance, mean = torch.var_mean(tokens, dim=0, correction=0, keepdim=True)
        return (tokens - mean) * (variance + self.eps).rsqrt() * self.weight + self.bias


class TwoLayers(nn.Module):
    """Two linear layers with a ReLU and dropout between them.

    Args:
        size: width of input and output.
        hidden_size: width between the two layers.
        dropout: between the two layers.
    """

    def __init__(self, size: int, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(size, hidden_size)
        self.dropout = Dropout(dropout)
        self.second = nn.Linear(hidden_size, size)

    def reset_parameters(self, zero_last: bool) -> None:
        """Initialise both layers again; with ``zero_last`` the second one is zero."""
        self.first.reset_parameters()
        self.second.reset_parameters()
        if zero_last:
            nn.init.zeros_(self.second.weight)
            nn.init.zeros_(self.second.bias)


class PatchMLP(TwoLayers):
    """Two layers along the patch axis, the same for every feature.

    Shapes:
        - input and output: ``[p, b, h]``
    """

    def forward(self, tokens: Tensor) -> Tensor:
        # [p, b, h] -> [p, b·h]: a patch layer is then one product, without a transpose
        flat = tokens.reshape(tokens.size(0), -1)
        hidden = torch.addmm(self.first.bias.unsqueeze(1), self.first.weight, flat)
        hidden = self.dropout.after_relu(hidden)
        out = torch.addmm(self.second.bias.unsqueeze(1), self.second.weight, hidden)
        return out.view_as(tokens)


class FeatureMLP(TwoLayers):
    """Two layers along the feature axis, the same for every position.

    Shapes:
        - input and output: ``[p, b, h]``
    """

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.second(self.dropout.after_relu(self.first(tokens)))
        return out


class MixerBlock(nn.Module):
    r"""One layer of the mixer.

    .. math::
        \hat{\mathbf{P}} = \mathbf{P} + \mathrm{MLP}_{patch}(\mathrm{LayerNorm}(\mathbf{P})),
        \qquad \tilde{\mathbf{P}} = \hat{\mathbf{P}} +
        \mathrm{MLP}_{feature}(\mathrm{LayerNorm}(\hat{\mathbf{P}}))

    Without ``residual`` nothing is added and an activation follows each MLP, as in the paper's
    Algorithm 1. With it, the last layer of each MLP starts at zero, so that a new block is
    the identity, and in a training step a share ``drop_path`` of the nodes skips the block, which
    also saves their part of the products.

    Args:
        patch_size: number of positions p.
        channels: width h of a token.
        expansion: hidden width of the patch MLP, as a multiple of p.
        feature_expansion: hidden width of the feature MLP, as a multiple of h.
        dropout: inside both MLPs.
        drop_path: share of the nodes that skip the block in a training step; only with
            ``residual``.
        norm: ``feature``, ``patch`` or ``none``.
        residual: whether blocks add to their input.
        patch_mixing: whether there is a patch MLP.
        feature_mixing: whether there is a feature MLP.

    Shapes:
        - input and output: ``[p, b, h]``
    """

    def __init__(
        self,
        patch_size: int,
        channels: int,
        expansion: float = 1.0,
        feature_expansion: float = 1.0,
        dropout: float = 0.5,
        drop_path: float = 0.0,
        norm: str = "feature",
        residual: bool = True,
        patch_mixing: bool = True,
        feature_mixing: bool = True,
    ) -> None:
        super().__init__()
        self.residual = residual
        self.path = DropPath(drop_path if residual else 0.0)
        self.layers = nn.ModuleList()
        if patch_mixing:
            hidden_size = math.ceil(expansion * patch_size)
            self.layers.append(_norm(norm, patch_size, channels))
            self.layers.append(PatchMLP(patch_size, hidden_size, dropout))
        if feature_mixing:
            hidden_channels = math.ceil(feature_expansion * min(channels, 256))
            self.layers.append(_norm(norm, patch_size, channels))
            self.layers.append(FeatureMLP(channels, hidden_channels, dropout))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in self.layers:
            if isinstance(layer, TwoLayers):
                layer.reset_parameters(zero_last=self.residual)
            elif isinstance(layer, (PatchNorm, nn.LayerNorm)):
                layer.reset_parameters()

    def forward(self, tokens: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return self._infer(tokens)
        kept = self.path.kept(tokens.size(1), tokens.device)
        if kept is None:
            return self._mix(tokens, 1.0)
        # so that the mean of what it adds is that of inference, where all nodes pass
        scale = tokens.size(1) / kept.numel()
        mixed = self._mix(tokens.index_select(1, kept), scale)
        return tokens.index_copy(1, kept, mixed)

    def _mix(self, tokens: Tensor, scale: float) -> Tensor:
        """Return the block's output, with what it adds to its input scaled."""
        for norm, mix in self._pairs():
            mixed = mix(norm(tokens))
            # in place it would be slower: autograd copies the gradients of views
            tokens = torch.add(tokens, mixed, alpha=scale) if self.residual else mixed.relu_()
        return tokens

    def _infer(self, tokens: Tensor) -> Tensor:
        for norm, mix in self._pairs():
            mixed = mix(norm(tokens))
            tokens = mixed.add_(tokens) if self.residual else mixed.relu_()
        return tokens

    def _pairs(self) -> Iterator[tuple[nn.Module, nn.Module]]:
        return zip(self.layers[::2], self.layers[1::2], strict=True)


def _norm(norm: str, patch_size: int, channels: int) -> nn.Module:
    if norm == "patch":
        return PatchNorm(patch_size)
    return nn.LayerNorm(channels) if norm == "feature" else nn.Identity()
