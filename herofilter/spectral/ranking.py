"""The p largest columns of each row, with the same tie-breaking on every machine."""

import torch
from torch import Tensor

from herofilter.errors import ConfigError


def top_p(scores_block: Tensor, p: int) -> tuple[Tensor, Tensor]:
    """Return the ``p`` largest scores of each row and their columns.

    Each row is sorted by falling score; of equal scores the lower column comes first, also where
    only some of them are among the p.

    Shapes:
        - **scores_block**: [b, n]
        - **returns**: values [b, p] and columns [b, p]

    Example:
        >>> top_p(torch.tensor([[1.0, 3.0, 3.0, 3.0]]), 2)[1].tolist()
        [[1, 2]]
    """
    columns = scores_block.shape[1]
    if not 1 <= p <= columns:
        raise ConfigError(f"p must be between 1 and the number of columns (got {p} of {columns})")
    best, index = torch.topk(scores_block, min(p + 1, columns), dim=1)
    # topk ranks NaN first, so it is enough to look at the first column
    if bool(best[:, :1].isnan().any()):
        raise ConfigError("scores must be finite (got NaN); lower the learning rate of the filter")
    index = index[:, :p].sort(dim=1).values
    if p < columns:
        tied = (best[:, p - 1] == best[:, p]).nonzero()[:, 0]
        if tied.numel():
            index[tied] = _first_of_equals(scores_block[tied], best[tied, p - 1 : p], p)
    # columns ascend here, so a stable sort leaves the lower one first
    values, order = scores_block.gather(1, index).sort(dim=1, descending=True, stable=True)
    return values, index.gather(1, order)


def _first_of_equals(rows: Tensor, last: Tensor, p: int) -> Tensor:
    above, equal = rows > last, rows == last
    room = p - above.sum(dim=1, keepdim=True)
    chosen = above | (equal & (equal.cumsum(dim=1) <= room))
    return chosen.nonzero()[:, 1].view(-1, p)
