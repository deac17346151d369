"""Standardisation of features by what the training nodes have."""

import torch
from torch import Tensor, nn

from herofilter.data import DiskFeatures, standardise
from herofilter.memory import check_memory


class FeatureScaler(nn.Module):
    r"""Columns of features with mean 0 and standard deviation 1 on the training nodes.

    .. math::
        \tilde{x}_{vf} = (x_{vf} - \mu_f) \, / \, \sigma_f

    A column in which all training nodes agree says nothing and becomes 0. Mean and scale are
    buffers, so they are saved and loaded with the weights of the model that holds the scaler.

    Args:
        mean: μ of each column.
        scale: 1 / σ of each column; 0 for one without spread.

    Shapes:
        - mean, scale: ``[f]``
        - x: ``[..., f]``, dense, or ``[n, f]`` in CSR or on disk; output: the same, but not CSR

    Example:
        >>> scaler = FeatureScaler(torch.tensor([2.0, 5.0]), torch.tensor([1.0, 0.0]))
        >>> scaler(torch.tensor([[1.0, 5.0], [3.0, 6.0]])).tolist()
        [[-1.0, 0.0], [1.0, 0.0]]
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean.detach().clone())
        self.register_buffer("scale", scale.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        if isinstance(x, DiskFeatures):
            return x.standardised(self.mean.cpu(), self.scale.cpu())
        if x.layout == torch.sparse_csr:
            check_memory(
                4 * x.numel(),
                f"the matrix of standardised features of {x.size(0)} nodes, which is dense,",
                "set feature_scaling=none",
            )
        return standardise(x, self.mean, self.scale)

    def equals(self, other: "FeatureScaler") -> bool:
        """Return whether ``other`` has the same mean and scale."""
        if self is other:
            return True
        pairs = ((self.mean, other.mean), (self.scale, other.scale))
        return all(torch.equal(mine.cpu(), its.cpu()) for mine, its in pairs)
