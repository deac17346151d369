"""Hidden vectors of all nodes, computed once for all batches of a prediction."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from herofilter.data import DiskFeatures
from herofilter.devices import CPU
from herofilter.parallel.threads import parallel_map

_SHARED_BYTES = 2**30
# nodes whose hidden vectors are computed at a time
_ROWS = 2**14


@dataclass(frozen=True, eq=False)
class Shared:
    """Values that all batches without gradients share.

    Shapes:
        - hidden: ``[n, h]``, the hidden vectors of all nodes
        - summary: ``[s, n, h]``, their summaries, or None
    """

    hidden: Tensor
    summary: Tensor | None


def worth_sharing(x: Tensor, count: int, members: int, width: int) -> bool:
    """Whether to compute the hidden vectors of all nodes once, instead of those of each batch.

    True if ``count`` patches have more members in all than there are nodes, the table takes at
    most 1 GiB, and the features are in memory.

    Args:
        x: the features.
        count: number of nodes to classify.
        members: number of nodes in a patch.
        width: floats per node in the table.
    """
    n = int(x.size(0))
    return (
        not isinstance(x, DiskFeatures) and count * members > n and 4 * n * width <= _SHARED_BYTES
    )


def fill_table(
    work: Callable[[Tensor], Tensor], count: int, channels: int, device: torch.device = CPU
) -> Tensor:
    """Return ``work(nodes)`` for the nodes 0 to ``count`` - 1 as one table, computed in parts.

    Example:
        >>> fill_table(lambda nodes: nodes.view(-1, 1).float(), 3, 1).tolist()
        [[0.0], [1.0], [2.0]]
    """
    table = torch.empty(count, channels, device=device)

    def fill(nodes: Tensor) -> None:
        table[nodes[0] : nodes[-1] + 1] = work(nodes)

    parallel_map(fill, torch.split(torch.arange(count, device=device), _ROWS))
    return table
