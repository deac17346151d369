"""Edges as a table lists them: weights checked, repeated edges merged."""

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from herofilter.errors import GraphError


def read_weights(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """Return one finite weight of at least 0 per edge."""
    try:
        weights: np.ndarray = column.cast(pa.float64(), safe=False).to_numpy()
    except pa.ArrowException as error:
        raise GraphError(f"the weight {name!r} must hold numbers (got {column.type})") from error
    wrong = int((~np.isfinite(weights) | (weights < 0)).sum())
    if wrong:
        raise GraphError(
            f"the weight {name!r} must be finite and not negative for every edge "
            f"(got {wrong} that are missing, infinite or negative); fill them in or drop those rows"
        )
    return weights


def merged_edges(
    source: np.ndarray, target: np.ndarray, weights: np.ndarray | None, num_nodes: int
) -> tuple[Tensor, Tensor | None, list[str]]:
    """Return each edge once, by source and target; its weight, added up; and notes.

    Example:
        >>> merged_edges(np.array([1, 0, 1]), np.array([0, 1, 0]), np.ones(3), 2)[:2]
        (tensor([[0, 1],
                [1, 0]]), tensor([1., 2.]))
    """
    key = source * num_nodes + target
    edge_weight = None
    if weights is None:
        different = np.unique(key)
    else:
        different, index = np.unique(key, return_inverse=True)
        total = np.bincount(index, weights, minlength=different.size)
        edge_weight = torch.from_numpy(total.astype(np.float32))
    repeated = key.size - different.size
    edge_index = torch.from_numpy(np.stack([different // num_nodes, different % num_nodes]))
    loops = int((edge_index[0] == edge_index[1]).sum())
    notes = []
    if repeated:
        added = "" if weights is None else " and their weights added"
        notes.append(f"repeated edges were merged{added}: {repeated} rows of {key.size}")
    if loops:
        notes.append(f"edges from a node to itself were kept: {loops}")
    return edge_index, edge_weight, notes
