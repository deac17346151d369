"""What is said of a training whose loss is no longer a number."""

import torch
from torch_geometric.data import Data

from herofilter.errors import RunError

# beyond it products of features and weights leave the range of floats sooner than the steps do
_HUGE = 1e6


def divergence(loss: float, epoch: int, lr: float, data: Data) -> RunError:
    """Return the error that names the epoch and the cure: smaller features, or smaller steps."""
    largest = _largest(data)
    cure = f"lower lr (now {lr:g})"
    if largest > _HUGE:
        cure = f"scale the features, which reach {largest:.1g} (feature_scaling=standard)"
    return RunError(f"the training loss must be a number (got {loss:g} in epoch {epoch}); {cure}")


def _largest(data: Data) -> float:
    x = data.get("x")
    if x is None:
        return 0.0
    values = x.values() if x.layout == torch.sparse_csr else x
    return float(values.abs().max()) if values.numel() else 0.0
