"""The relations that fill a patch: scores of a diffusion or of shared neighbours, row by row."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from herofilter.callbacks import Callback
from herofilter.patchers.ppr.edge_files import EdgeFiles, close_edges, open_edges
from herofilter.patchers.ppr.push import PushRule, PushSpace, push_rows, workspace
from herofilter.patchers.ppr.push_graph import PushGraph, positions_of_nodes, rescale
from herofilter.patchers.ppr.push_table import TablePush, degrees_of_ends, uses_table
from herofilter.patchers.ppr.series import series_top
from herofilter.patchers.row_filling import fill_rows
from herofilter.patchers.two_hop import TwoHop


@dataclass(frozen=True, eq=False)
class Found:
    """The best nodes of some rows, index [m, p] and score [m, p].

    ``certified`` [m] says which rows are certified; None where that wasn't asked for. ``edges`` is
    how many edges were read, 0 where they weren't counted.
    """

    index: np.ndarray
    score: np.ndarray
    certified: np.ndarray | None = None
    edges: int = 0


class Relation(ABC):
    """Scores between nodes of one graph, whose largest per row can be computed."""

    @abstractmethod
    def top(self, nodes: np.ndarray, patch_size: int, callback: Callback | None = None) -> Found:
        """Return the best ``patch_size`` nodes for each of ``nodes``, equal scores by id.

        ``callback`` takes an event of stage ``rows`` after each chunk.
        """


class SeriesRelation(Relation):
    r"""The series :math:`(1-c)\sum_k c^k \mathbf{N}^k`, summed until :math:`c^{K+1}` is small.

    Args:
        matrix: the normalised adjacency N.
        c: how far the diffusion reaches.
        tolerance: what the rest of the series may add.
        ego_first: whether column 0 is kept for the node itself.
    """

    def __init__(self, matrix: sp.csr_array, c: float, tolerance: float, ego_first: bool) -> None:
        self.matrix, self.settings = matrix, (c, tolerance, ego_first)

    def top(self, nodes: np.ndarray, patch_size: int, callback: Callback | None = None) -> Found:
        return Found(*series_top(self.matrix, nodes, patch_size, *self.settings, callback))


class PushRelation(Relation):
    """The series of :class:`SeriesRelation` by local push.

    Args:
        adjacency: the adjacency matrix, not normalised, or the graph made from it.
        c: how far the diffusion reaches.
        tolerance: mass waits at a node while it is at most this times the node's degree.
        ego_first: whether column 0 is kept for the node itself.
        refine: how many edges may be read to certify a row; 0 certifies none.
        margin: by how much, relatively, a node left out may exceed the last one of a certified row.
        ends: :func:`degrees_of_ends` of the graph, if they are known already.
        files: where the edge arrays are, if the graph has none.
    """

    def __init__(
        self,
        adjacency: sp.csr_array | PushGraph,
        c: float,
        tolerance: float,
        ego_first: bool,
        refine: int = 0,
        margin: float = 0.0,
        ends: np.ndarray | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        self.graph = adjacency if isinstance(adjacency, PushGraph) else rescale(adjacency)
        self.positions = positions_of_nodes(self.graph)
        most = float(self.graph.right.max(initial=0.0))
        self.rule = PushRule(c, tolerance, ego_first, refine, margin, most)
        self.ends, self.files = None, files
        if uses_table(len(self.positions), refine):
            self.ends = degrees_of_ends(self.graph) if ends is None else ends

    def top(self, nodes: np.ndarray, patch_size: int, callback: Callback | None = None) -> Found:
        """Chunks of sources run on ``torch.get_num_threads()`` threads. Each row depends on its
        source alone, so the result is the same to the bit for any number of threads.
        """
        sources = self.positions[nodes]
        # sources that are close in memory follow one another, so that they share cache lines
        order = np.argsort(sources, kind="stable")
        sources = sources[order]
        certified = np.zeros(sources.size, dtype=np.bool_)
        edges = np.zeros(sources.size, dtype=np.int64)

        most = int(np.diff(self.graph.indptr).max(initial=0)) if self.files else 0
        opened: list[EdgeFiles] = []

        def space() -> PushSpace | TablePush:
            if self.ends is None:
                return workspace(self.graph, self.rule.eps)
            if self.files is None:
                return TablePush(self.graph, self.ends, self.rule)
            opened.append(open_edges(self.files, most, self.graph.weights))
            return TablePush(self.graph, self.ends, self.rule, files=opened[-1])

        def fill(
            rows: slice, space: PushSpace | TablePush, index: np.ndarray, score: np.ndarray
        ) -> None:
            if isinstance(space, TablePush):
                edges[rows.start] = space.fill(sources[rows], index, score)
                return
            edges[rows.start] = push_rows(
                self.graph, space, self.rule, sources[rows], index, score, certified[rows]
            )

        try:
            index, score = fill_rows(sources.size, patch_size, space, fill, callback)
        finally:
            for edge_files in opened:
                close_edges(edge_files)
        np.copyto(index, self.graph.ids[index], where=index >= 0)
        inverse = np.argsort(order, kind="stable")
        asked = certified[inverse] if self.rule.refine else None
        return Found(index[inverse], score[inverse], asked, int(edges.sum()))


class TwoHopRelation(Relation):
    r"""Entries of :math:`\mathbf{N}\mathbf{N}^\top`: nodes that share neighbours.

    Args:
        matrix: the normalised adjacency N, or its :func:`two_hop_arrays`.
        hub_limit: shared neighbours with more edges than this are skipped.
        ego_first: whether column 0 is kept for the node itself.
    """

    def __init__(
        self, matrix: sp.csr_array | Mapping[str, np.ndarray], hub_limit: int, ego_first: bool
    ) -> None:
        self.steps, self.ego_first = TwoHop(matrix, hub_limit), ego_first

    def top(self, nodes: np.ndarray, patch_size: int, callback: Callback | None = None) -> Found:
        return Found(*self.steps.top(nodes, patch_size, self.ego_first, callback))
