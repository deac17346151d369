"""Splits of the nodes into training, validation and test: choosing one, making new ones."""

import copy
import operator

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.checks import MASKS
from herofilter.errors import ConfigError, GraphError


def num_splits(data: Data) -> int:
    """Return how many splits the masks of ``data`` hold: 0 without masks, 1 if one-dimensional."""
    mask = data.get("train_mask")
    if mask is None:
        return 0
    return 1 if mask.dim() == 1 else int(mask.size(1))


def select_split(data: Data, split: int) -> Data:
    """Return a shallow copy of ``data`` whose masks, of shape ``[n]``, are those of one split.

    A graph that only trains needs no ``test_mask``.

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=100, num_splits=3)
        >>> data.train_mask.shape, select_split(data, 2).train_mask.shape
        (torch.Size([100, 3]), torch.Size([100]))
    """
    missing = [name for name in MASKS if data.get(name) is None]
    if missing and missing != ["test_mask"]:
        raise GraphError(
            f"{', '.join(MASKS)} must all be set (got no {', '.join(missing)}); "
            "make them with random_splits(data.y, 10)"
        )
    count, index = num_splits(data), operator.index(split)
    if not 0 <= index < count:
        raise ConfigError(
            f"split must be between 0 and {count - 1} (got {index}); "
            f"the graph has {count} split{'' if count == 1 else 's'}"
        )
    chosen = copy.copy(data)
    for name in MASKS:
        mask = data.get(name)
        if mask is None:
            continue
        chosen[name] = mask if mask.dim() == 1 else mask[:, index].contiguous()
    return chosen


def random_splits(
    y: Tensor,
    num_splits: int,
    fractions: tuple[float, float, float] = (0.48, 0.32, 0.20),
    seed: int = 0,
    stratified: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return training, validation and test masks of shape ``[n, num_splits]``.

    Nodes with the label -1 are in no part. When ``stratified``, each class is shared out by
    ``fractions`` on its own and a class of three or more nodes is in every part.

    Example:
        >>> train, val, test = random_splits(torch.tensor([0, 0, 0, 1, 1, 1, -1]), 1)
        >>> int(train.sum()), int(val.sum()), int(test.sum())
        (2, 2, 2)
    """
    if num_splits < 1:
        raise ConfigError(f"num_splits must be at least 1 (got {num_splits})")
    if len(fractions) != 3 or min(fractions) <= 0 or sum(fractions) > 1 + 1e-9:
        raise ConfigError(
            "fractions must be three positive numbers that add up to at most 1 "
            f"(got {tuple(fractions)})"
        )
    labelled = (y >= 0).nonzero().flatten()
    labels = y[labelled] if stratified else torch.zeros_like(labelled)
    _, group, size = torch.unique(labels, return_inverse=True, return_counts=True)
    ends = torch.from_numpy(_part_ends(size.numpy(), fractions))
    start = size.cumsum(0) - size
    masks = torch.zeros(3, y.numel(), num_splits, dtype=torch.bool)
    generator = torch.Generator().manual_seed(seed)
    for split in range(num_splits):
        shuffled = torch.randperm(labelled.numel(), generator=generator)
        order = shuffled[torch.argsort(group[shuffled], stable=True)]
        of = group[order]
        rank = torch.arange(order.numel()) - start[of]
        part = (rank >= ends[0, of]).long() + (rank >= ends[1, of]) + (rank >= ends[2, of])
        for i in range(3):
            masks[i, labelled[order[part == i]], split] = True
    return masks[0], masks[1], masks[2]


def _part_ends(size: np.ndarray, fractions: tuple[float, float, float]) -> np.ndarray:
    """Return, for each part and group, the rank at which the part ends: ``[3, groups]``."""
    least = (size >= 3).astype(np.int64)
    share = np.rint(np.outer(fractions, size)).astype(np.int64)
    # groups of one and two nodes can't be in every part: training comes first, then the test
    train = np.clip(share[0], np.minimum(size, 1), np.maximum(size - 2, 1))
    val = np.clip(share[1], least, np.maximum(size - train - 1, 0))
    rest = size - train - val
    full = sum(fractions) > 1 - 1e-9
    test = rest if full else np.clip(share[2], np.minimum(rest, 1), rest)
    return np.cumsum([train, val, test], axis=0)
