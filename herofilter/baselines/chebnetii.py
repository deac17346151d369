"""ChebNetII: logits of an MLP filtered by interpolation at the Chebyshev nodes."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.chebyshev import chebyshev_filter
from herofilter.baselines.mlp import MLP
from herofilter.baselines.propagated_mlp import PropagatedMLP
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import check_choice
from herofilter.nn.registry import arguments, register_model
from herofilter.spectral.chebyshev import chebyshev_coefficients, chebyshev_nodes, chebyshev_sum

HOPS = 10
STARTS = ("identity", "low")


class ChebNetII(PropagatedMLP):
    r"""Chebyshev interpolation (He et al., NeurIPS 2022).

    .. math::
        \mathbf{Z} = \sum_{k=0}^K c_k T_k(\mathbf{L} - \mathbf{I}) \, \mathrm{MLP}(\mathbf{X}),
        \qquad c_k = \frac{2 - [k = 0]}{K + 1} \sum_{j=0}^K \mathrm{ReLU}(\gamma_j) T_k(x_j)

    where :math:`\mathbf{L} = \mathbf{I} - \mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}` and
    :math:`x_j` are the zeros of :math:`T_{K+1}`, ascending: the filter takes the value
    :math:`\mathrm{ReLU}(\gamma_j)` at the eigenvalue :math:`1 + x_j`.

    Args:
        mlp: gives the logits that are filtered.
        hops: K, the order of the filter.
        start: ``identity`` starts from :math:`\gamma_j = 1`, ``low`` from the low-pass filter
            :math:`g(\lambda) = 1 - \lambda / 2`, which training may not leave before patience ends.
    """

    basis: Tensor

    def __init__(self, mlp: MLP, hops: int = HOPS, start: str = "identity") -> None:
        super().__init__(mlp)
        check_choice("start", start, STARTS)
        self.start = start
        self.gamma = nn.Parameter(torch.empty(hops + 1))
        self.register_buffer("basis", chebyshev_coefficients(hops).float(), persistent=False)
        self.reset_coefficients()

    @torch.no_grad()
    def reset_coefficients(self) -> None:
        low = (1 - chebyshev_nodes(self.gamma.numel() - 1)) / 2
        self.gamma.copy_(low if self.start == "low" else torch.ones_like(low))

    def propagate(self, data: Data, x: Tensor) -> Tensor:
        return chebyshev_filter(data, self.basis @ self.gamma.relu(), x)

    def response(self, eigenvalues: Tensor) -> Tensor:
        r"""Return :math:`g(\lambda) = \sum_k c_k T_k(\lambda - 1)`.

        Shapes:
            - eigenvalues: ``[f]``, of **L**, within [0, 2]
            - output: ``[f]``
        """
        weights = (self.basis @ self.gamma.relu()).to(eigenvalues.dtype)
        terms = [weight.expand_as(eigenvalues) for weight in weights]
        return chebyshev_sum(lambda value: (eigenvalues - 1) * value, terms)


@register_model(
    "chebnetii",
    paper="He et al. (NeurIPS 2022)",
    needs="the edges",
    scales=True,
    options={"hops": (2, 5, 10)},
)
def build_chebnetii(data: Data, config: Config, spec: GraphSpec) -> ChebNetII:
    """Build a ChebNetII for a graph."""
    return ChebNetII(MLP(*arguments(data, config, spec)), config.baseline.hops or HOPS)
