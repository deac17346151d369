"""What batches without gradients have in common, computed once for all nodes."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from herofilter.data import DiskFeatures
from herofilter.parallel.threads import parallel_map

_SHARED_BYTES = 2**30
# rows of features that are made hidden vectors at once
_ROWS = 2**14


@dataclass(frozen=True, eq=False)
class Shared:
    """What batches without gradients have in common.

    Shapes:
        - hidden: ``[n, h]``, the vectors of all nodes
        - summary: ``[s, n, h]`` or None
    """

    hidden: Tensor
    summary: Tensor | None


def worth_sharing(x: Tensor, count: int, members: int, width: int) -> bool:
    """Whether to compute the vectors of all nodes at once, and not those of each batch.

    It saves time if ``count`` patches have more members in all than there are nodes, and costs
    at most 1 GiB. Features on disk are too many to look at them all at once.

    Args:
        x: the features.
        count: nodes to be classified.
        members: nodes in a patch.
        width: numbers that are kept of each node.
    """
    n = int(x.size(0))
    return (
        not isinstance(x, DiskFeatures) and count * members > n and 4 * n * width <= _SHARED_BYTES
    )


def fill_table(work: Callable[[Tensor], Tensor], count: int, channels: int) -> Tensor:
    """Return ``work`` of the nodes 0, 1, …, some at a time, as one table.

    Example:
        >>> fill_table(lambda nodes: nodes.view(-1, 1).float(), 3, 1).tolist()
        [[0.0], [1.0], [2.0]]
    """
    table = torch.empty(count, channels)

    def fill(nodes: Tensor) -> None:
        table[nodes[0] : nodes[-1] + 1] = work(nodes)

    parallel_map(fill, torch.split(torch.arange(count), _ROWS))
    return table
