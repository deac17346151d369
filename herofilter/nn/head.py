"""The classification head: aggregated patches to logits."""

import itertools

from torch import Tensor, nn

from herofilter.nn.dropout import Dropout


class Head(nn.Module):
    """Linear layers to raw logits, with dropout before each and ReLU between them.

    Args:
        in_channels: width of the aggregated patch.
        hidden_channels: width between the layers when there are two or more.
        out_channels: number of classes.
        num_layers: number of linear layers.
        dropout: before each of them.

    Shapes:
        - input: ``[b, in_channels]``
        - output: ``[b, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 1,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            nn.Linear(before, after) for before, after in itertools.pairwise(widths)
        )

    def reset_parameters(self) -> None:
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if i == 0 else self.dropout.after_relu(x))
        return x
