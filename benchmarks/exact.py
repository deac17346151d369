"""Exact patches, and the recall of approximate ones against them."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from herofilter.spectral.adjacency import normalise

TIE = 1e-12
_BLOCK = 50


@dataclass(frozen=True)
class Truth:
    """Exact scores of some sources, and the lowest score in an exact patch.

    Args:
        sources: nodes [m].
        scores: of every node for each source, float64 [m, n].
        bar: the lowest score of a member other than the source itself [m].
        size: members of the exact patch, the source included [m].
        tied: how many members have the lowest score; more nodes than these may have it [m].
    """

    sources: np.ndarray
    scores: np.ndarray
    bar: np.ndarray
    size: np.ndarray
    tied: np.ndarray

    def recall(self, row: int, chosen: np.ndarray) -> float:
        """Return the share of the exact patch of ``sources[row]`` that is in ``chosen``.

        The source counts if it comes first. A node whose exact score is that of the last member,
        but for a relative error of 1e-12, counts up to the number of members with that score:
        which of several tied nodes is taken doesn't matter.
        """
        source = self.sources[row]
        right = int(chosen.size > 0 and chosen[0] == source)
        others = np.unique(chosen[chosen >= 0])
        scores = self.scores[row, others[others != source]]
        above = np.count_nonzero(scores > self.bar[row] * (1 + TIE))
        equal = np.count_nonzero(scores >= self.bar[row] * (1 - TIE)) - above
        return float((right + above + min(equal, self.tied[row])) / self.size[row])


def exact_truth(
    matrix: sp.csr_array, sources: np.ndarray, patch_size: int, c: float, tolerance: float = 1e-12
) -> Truth:
    r"""Sum :math:`(1-c) \sum_k c^k \tilde{\mathbf{A}}^k \mathbf{e}_v` until the rest is negligible.

    Args:
        matrix: the symmetric adjacency.
        sources: the nodes v.
        patch_size: p.
        c: how far the diffusion reaches.
        tolerance: what the rest of the series may add up to.
    """
    normal = normalise(matrix)
    scores = np.empty((sources.size, matrix.shape[0]))
    for start in range(0, sources.size, _BLOCK):
        block = sources[start : start + _BLOCK]
        # [n, b], in blocks, or three copies of all scores would be held at once
        term = np.zeros((matrix.shape[0], block.size))
        term[block, np.arange(block.size)] = 1 - c
        total, rest = term.copy(), c
        while rest > tolerance:
            term = normal @ term
            term *= c
            total += term
            rest *= c
        scores[start : start + _BLOCK] = total.T
    bar = np.full(sources.size, np.inf)
    size, tied = np.ones((2, sources.size), dtype=np.int64)
    for row, source in enumerate(sources):
        others = np.delete(scores[row], source)
        size[row] = min(patch_size, 1 + int(np.count_nonzero(others)))
        if size[row] > 1:
            last = others.size - (size[row] - 1)
            bar[row] = np.partition(others, last)[last]
            tied[row] = size[row] - 1 - np.count_nonzero(others > bar[row] * (1 + TIE))
    return Truth(sources, scores, bar, size, tied)


def top_members(
    source: int, nodes: np.ndarray, values: np.ndarray, degree: np.ndarray, patch_size: int
) -> np.ndarray:
    r"""Return the patch that a personalised PageRank gives, the source in front.

    The symmetric score is :math:`r_v[u] = \sqrt{d_v / d_u}\,\pi_v[u]`; its first factor is the same
    for all members and is left out.
    """
    keep = (nodes != source) & (values > 0)
    nodes = nodes[keep]
    scores = values[keep] / np.sqrt(degree[nodes])
    rest = nodes.size - (patch_size - 1)
    if 0 < rest < nodes.size:
        # most nodes aren't members, and needn't be sorted
        best = np.argpartition(scores, rest)[rest:]
        nodes, scores = nodes[best], scores[best]
    return np.concatenate([[source], nodes[np.argsort(-scores, kind="stable")][: patch_size - 1]])


def filled_share(matrix: sp.csr_array, index: np.ndarray) -> float:
    """Return the share of full rows among those whose node can reach ``p`` nodes, itself included.

    Row v of ``index`` is the patch of node v.
    """
    _, part = sp.csgraph.connected_components(matrix, directed=False)
    fillable = np.bincount(part)[part] >= index.shape[1]
    return float((index[fillable] >= 0).all(axis=1).mean()) if fillable.any() else float("nan")
