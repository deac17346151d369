"""The base of models that propagate the output of an MLP: APPNP, GPRGNN, BernNet, ChebNetII."""

from abc import abstractmethod

from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.mlp import MLP
from herofilter.nn.classifier import NodeClassifier, select


class PropagatedMLP(NodeClassifier):
    r"""An MLP whose logits are filtered over the graph.

    .. math::
        \mathbf{Z} = g(\mathbf{L}) \, \mathrm{MLP}(\mathbf{X})

    A subclass holds the coefficients of the polynomial g, learned or fixed, and computes the
    product in :meth:`propagate`. Learned ones are parameters of the model itself and have no weight
    decay.

    Args:
        mlp: gives logits from the features alone.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    full_batch = True

    def __init__(self, mlp: MLP) -> None:
        super().__init__()
        self.mlp = mlp

    def reset_parameters(self) -> None:
        self.mlp.reset_parameters()
        self.reset_coefficients()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        return select(self.propagate(data, self.mlp(data)), nodes)

    def filter_parameters(self) -> list[nn.Parameter]:
        # the coefficients of g; all others are the perceptron's
        return list(self.parameters(recurse=False))

    def reset_coefficients(self) -> None:
        """Set the coefficients of g to their start; by default there are none to learn."""

    @abstractmethod
    def propagate(self, data: Data, x: Tensor) -> Tensor:
        r"""Return :math:`g(\mathbf{L}) \mathbf{X}`: ``[n, c]`` to ``[n, c]``."""
