"""Scores R = U diag(g) Uᵀ: rows, or chosen entries only, differentiable in g."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from herofilter.errors import GraphError
from herofilter.jit import compiled

# a fixed size, so that the order of additions doesn't depend on the number of threads
_BLOCK = 64
# floats that are gathered at a time off the CPU
_GATHERED = 2**26


def dense_scores(
    vectors: Tensor, response: Tensor, rows: slice | Tensor, right: Tensor | None = None
) -> Tensor:
    r"""Return the rows of :math:`\mathbf{R} = \mathbf{U} \, diag(g) \, \mathbf{V}^\top`.

    Shapes:
        - **vectors**: [n, f], and **right** likewise, equal to ``vectors`` unless given
        - **response**: [f]
        - **returns**: [b, n] for b rows
    """
    other = vectors if right is None else right
    return (vectors[rows] * response.to(vectors.dtype)) @ other.T


def sampled_scores(
    vectors: Tensor, response: Tensor, nodes: Tensor, index: Tensor, right: Tensor | None = None
) -> Tensor:
    r"""Return :math:`R_{vj} = \sum_f U_{vf} \, g_f \, V_{jf}` for chosen pairs only.

    Only ``response`` gets a gradient. No array of size b · p · f is allocated,
    and the result doesn't depend on the number of threads.

    Args:
        vectors: The eigenvectors U.
        response: The filter's response g.
        nodes: The rows v.
        index: For each of them the columns j; -1 is padding and scores 0.
        right: V where it isn't U, as for the singular vectors of a directed graph.

    Shapes:
        - **vectors**, **right**: [n, f]
        - **response**: [f]
        - **nodes**: [b]
        - **index**: [b, p]
        - **returns**: [b, p]

    Example:
        >>> pairs = torch.tensor([[1, -1]])
        >>> sampled_scores(torch.eye(2), torch.ones(2), torch.tensor([1]), pairs).tolist()
        [[1.0, 0.0]]
    """
    other = vectors if right is None else right
    for name, indices, least, count in (
        ("nodes", nodes, 0, vectors.shape[0]),
        ("index", index, -1, other.shape[0]),
    ):
        # the compiled loop doesn't check bounds
        if indices.numel() and not least <= int(indices.min()) <= int(indices.max()) < count:
            raise GraphError(
                f"{name} must hold indices from {least} to {count - 1} "
                f"(got {int(indices.min())} to {int(indices.max())})"
            )
    if index.shape[:1] != nodes.shape or response.shape != vectors.shape[1:]:
        raise GraphError(
            "index must have a row per node and response a value per eigenvector "
            f"(got {tuple(index.shape)} for {nodes.numel()} nodes and "
            f"{tuple(response.shape)} for {vectors.shape[1]} eigenvectors)"
        )
    if vectors.device.type != "cpu":
        return _gathered_scores(vectors, response.to(vectors.dtype), nodes, index, other)
    scores: Tensor = _SampledScores.apply(  # type: ignore[no-untyped-call]
        response.to(vectors.dtype),
        vectors.detach().contiguous(),
        other.detach().to(vectors.dtype).contiguous(),
        nodes.long().contiguous(),
        index.long().contiguous(),
    )
    return scores


def _gathered_scores(
    vectors: Tensor, response: Tensor, nodes: Tensor, index: Tensor, right: Tensor
) -> Tensor:
    """Return what :func:`sampled_scores` returns, some rows at a time, on any device."""
    size = max(1, _GATHERED // max(1, index.size(1) * vectors.size(1)))
    parts = []
    for rows, columns in zip(torch.split(nodes, size), torch.split(index, size), strict=True):
        # [b, f] and [b, p, f] -> [b, p]
        scaled = (vectors[rows] * response).unsqueeze(2)
        found = (right[columns.clamp(min=0)] @ scaled).squeeze(2)
        parts.append(found.masked_fill(columns < 0, 0))
    return torch.cat(parts) if parts else vectors.new_zeros(index.shape)


@compiled(nogil=True, fastmath=True)
def score_entries(left, right, response, nodes, index, scores, first, last):  # type: ignore[no-untyped-def]
    """Write the score of each pair ``nodes[i]``, ``index[i, q]`` to ``scores[i, q]``.

    Computes the blocks of rows from ``first`` up to, not including, ``last``.
    """
    rows, width = index.shape
    scaled = np.empty_like(response)
    for block in range(first, last):
        for i in range(block * _BLOCK, min(rows, (block + 1) * _BLOCK)):
            for f in range(response.size):
                scaled[f] = left[nodes[i], f] * response[f]
            for q in range(width):
                column = index[i, q]
                total = left.dtype.type(0)
                if column >= 0:
                    for f in range(response.size):
                        total += scaled[f] * right[column, f]
                scores[i, q] = total


@compiled(nogil=True, fastmath=True)
def response_gradient(left, right, nodes, index, upstream, partial, first, last):  # type: ignore[no-untyped-def]
    """Add the part of the response's gradient from the b-th block of rows to ``partial[b]``.

    Computes the blocks from ``first`` up to, not including, ``last``.
    """
    rows, width = index.shape
    size = left.shape[1]
    mixed = np.empty(size, left.dtype)
    for block in range(first, last):
        for i in range(block * _BLOCK, min(rows, (block + 1) * _BLOCK)):
            mixed[:] = 0
            for q in range(width):
                column = index[i, q]
                if column >= 0:
                    for f in range(size):
                        mixed[f] += upstream[i, q] * right[column, f]
            for f in range(size):
                partial[block, f] += mixed[f] * left[nodes[i], f]


def _in_threads(kernel: Callable[..., None], blocks: int, *arrays: Any) -> None:
    """Run a compiled loop over all blocks, in as many threads as torch uses."""
    # Python threads: OpenMP threads of numba would compete with those of torch for the cores
    threads = min(torch.get_num_threads(), blocks)
    if threads <= 1:
        kernel(*arrays, 0, blocks)
        return
    bounds = [blocks * thread // threads for thread in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda pair: kernel(*arrays, *pair), pairwise(bounds)))


def _num_blocks(nodes: Tensor) -> int:
    return (nodes.numel() + _BLOCK - 1) // _BLOCK


class _SampledScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, response: Tensor, left: Tensor, right: Tensor, nodes: Tensor, index: Tensor
    ) -> Tensor:
        ctx.save_for_backward(left, right, nodes, index)
        scores = left.new_empty(index.shape)
        _in_threads(
            score_entries,
            _num_blocks(nodes),
            left.numpy(),
            right.numpy(),
            response.detach().contiguous().numpy(),
            nodes.numpy(),
            index.numpy(),
            scores.numpy(),
        )
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, None, None, None, None]:
        left, right, nodes, index = ctx.saved_tensors
        partial = left.new_zeros(_num_blocks(nodes), left.shape[1])
        _in_threads(
            response_gradient,
            partial.shape[0],
            left.numpy(),
            right.numpy(),
            nodes.numpy(),
            index.numpy(),
            upstream.contiguous().numpy(),
            partial.numpy(),
        )
        # numpy adds the blocks one after the other; torch may split the sum between threads
        gradient = torch.from_numpy(partial.numpy().sum(axis=0))
        return gradient, None, None, None, None
