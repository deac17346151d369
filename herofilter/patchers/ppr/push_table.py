r"""Local push whose state is a small hash table instead of arrays with an entry for every node.

A row touches a few thousand nodes. On a graph of millions each of them is a cache miss if arrays
have an entry for every node; a table of the touched nodes alone stays in the cache of one core, and
doesn't grow with the graph. The scores are those of ``push.py``, to the bit: the same masses are
added in the same order.
"""

from typing import Any, NamedTuple

import numpy as np

from herofilter.files import DamagedFileError
from herofilter.jit import compiled
from herofilter.patchers.ppr.edge_files import EdgeFiles, read_row
from herofilter.patchers.ppr.prefetch import prefetch
from herofilter.patchers.ppr.push import PushRule
from herofilter.patchers.ppr.push_graph import PushGraph
from herofilter.patchers.ppr.ranking import offer

BITS = 13
# rows that were too large for a table until the next ones begin with one of twice the size
PATIENCE = 8
_FACTOR, _WORD = np.uint64(2654435769), np.uint64(0xFFFFFFFF)
_EMPTY = -1
# how many positions before its push a node's row pointer and its edges are prefetched
_LOOK, _FETCH = 8, 4
# if a row filled more than 1 / _SHARE of a table, all entries are cleared, else those it used
_SHARE = 8
# squares of scores are compared with this factor, a margin larger than rounding errors
_SPARE = 1 - 1e-6
TABLE_FROM = 100_000


def uses_table(num_nodes: int, refine: int) -> bool:
    """Whether rows of a graph are pushed in tables; those to be certified never are."""
    return num_nodes >= TABLE_FROM and refine == 0


class PushTable(NamedTuple):
    """Open addressing with linear probing.

    ``state`` has two floats for a node: the mass that reached it, and how much of that was pushed
    on. ``slots`` lists the entries that are taken, ``touched`` their nodes and ``degrees`` the
    degrees of those, ``queue`` the entries of nodes that wait to be pushed.
    """

    keys: np.ndarray
    state: np.ndarray
    queue: np.ndarray
    slots: np.ndarray
    touched: np.ndarray
    degrees: np.ndarray
    bits: int


def make_table(graph: PushGraph, bits: int) -> PushTable:
    """Return an empty table of :math:`2^{bits}` entries."""
    size, kind = 1 << bits, graph.indices.dtype
    keys, state = np.full(size, _EMPTY, dtype=kind), np.zeros((size, 2))
    queue, slots = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    touched, degrees = np.empty(size, dtype=kind), np.empty(size)
    return PushTable(keys, state, queue, slots, touched, degrees, bits)


def degrees_of_ends(graph: PushGraph) -> np.ndarray:
    """Return the degree of each edge's end, in the order of edges, as float32 if that is exact."""
    small = graph.degree.astype(np.float32)
    exact = np.array_equal(small, graph.degree)
    return np.asarray((small if exact else graph.degree)[graph.indices])


class TablePush:
    """The hash tables of one thread; a row that is too large for one is pushed in a larger one.

    Args:
        graph: the graph to push on.
        ends: :func:`degrees_of_ends` of it.
        rule: when to stop; without ``refine``.
        bits: the first table has :math:`2^{bits}` entries.
        files: where edges are, if they aren't in the graph.
    """

    def __init__(
        self,
        graph: PushGraph,
        ends: np.ndarray,
        rule: PushRule,
        bits: int = BITS,
        *,
        files: EdgeFiles | None = None,
    ) -> None:
        if files is not None:
            # room for one row each
            graph, ends = graph._replace(indices=files.indices, weights=files.weights), files.ends
        self.graph, self.ends, self.rule, self.files = graph, ends, rule, files
        self.bits, self.misses = bits, 0
        self.tables: dict[int, PushTable] = {}

    def fill(self, sources: np.ndarray, index: np.ndarray, score: np.ndarray) -> int:
        """Fill one row per source and return the number of edges read."""
        done = edges = 0
        while done < len(sources):
            more, count = self._rows(self.bits, sources[done:], index[done:], score[done:])
            done, edges = done + count, edges + more
            if done < len(sources):
                row, count, bits = slice(done, done + 1), 0, self.bits
                while count == 0:
                    bits += 1
                    more, count = self._rows(bits, sources[row], index[row], score[row])
                done, edges = done + 1, edges + more
                self._missed()
        return edges

    def _rows(
        self, bits: int, sources: np.ndarray, index: np.ndarray, score: np.ndarray
    ) -> tuple[int, int]:
        if bits not in self.tables:
            self.tables[bits] = make_table(self.graph, bits)
        edges, count = push_rows_in_table(
            *(self.graph, self.ends, self.tables[bits], self.rule),
            *(sources, index, score, self.files),
        )
        if count < 0:
            raise DamagedFileError(
                "the edges of the prepared graph must be readable to their end, but a file is too "
                "short; delete the folder of patches and make it anew"
            )
        return int(edges), int(count)

    def _missed(self) -> None:
        self.misses += 1
        if self.misses == PATIENCE:
            self.bits, self.misses = self.bits + 1, 0


@compiled(nogil=True)
def spread_in_table(
    graph: Any, ends: Any, table: Any, c: float, eps: float, v: int, files: Any
) -> Any:
    """Push from ``v`` to the end; return the number of nodes touched and of edges read.

    The last value is 1, or 0 if the nodes would fill more than three quarters of the table. With
    ``files`` each row of edges is read into the arrays; it is -1 if that fails.
    """
    keys, state, queue = table.keys, table.state, table.queue
    slots, touched, degrees = table.slots, table.touched, table.degrees
    indptr, indices, weights, degree = graph.indptr, graph.indices, graph.weights, graph.degree
    # unsigned positions spare the test for negative ones
    one, mask = np.uint64(1), np.uint64(keys.shape[0] - 1)
    shift, look, fetch = np.uint64(32 - table.bits), np.uint64(_LOOK), np.uint64(_FETCH)
    most = keys.shape[0] * 3 // 4
    alike = weights.size > 0 and weights.strides[0] == 0
    shared_weight = np.float64(weights[0]) if alike else 0.0
    s = ((np.uint64(v) * _FACTOR) & _WORD) >> shift
    keys[s] = v
    state[s, 0] = 1.0
    queue[0] = slots[0] = s
    touched[0], degrees[0] = v, degree[v]
    head, tail, count = np.uint64(0), one, one
    waiting, edges = 1, 0
    while waiting > 0:
        entry = np.uint64(queue[head])
        u = np.uint64(keys[entry])
        head = (head + one) & mask
        waiting -= 1
        if waiting > _LOOK:
            later = np.uint64(keys[np.uint64(queue[(head + look) & mask])])
            prefetch(indptr, later)
            prefetch(degree, later)
        if waiting > _FETCH:
            soon = np.uint64(keys[np.uint64(queue[(head + fetch) & mask])])
            first, last = np.uint64(indptr[soon]), np.uint64(indptr[soon + one]) - one
            prefetch(indices, first)
            prefetch(ends, first)
            # most rows take at most two cache lines
            prefetch(indices, last)
            prefetch(ends, last)
        start, stop = np.uint64(indptr[u]), np.uint64(indptr[u + one])
        if int(count + (stop - start)) > most:
            return int(count), edges, 0
        edges += int(stop - start)
        if files is not None:
            if not read_row(files, start, stop - start):
                return int(count), edges, -1
            start, stop = np.uint64(0), stop - start
        total = state[entry, 0]
        limit = eps * degree[u]
        # rounded as in push, where the sum with the limit is what is kept
        flow = c * (total - (state[entry, 1] + limit - limit)) / degree[u]
        gain = flow * shared_weight
        state[entry, 1] = total
        for e in range(start, stop):
            w = indices[e]
            s = ((np.uint64(w) * _FACTOR) & _WORD) >> shift
            key = keys[s]
            while key != w and key != _EMPTY:
                s = (s + one) & mask
                key = keys[s]
            keys[s] = w
            before = state[s, 0]
            after = before + (gain if alike else flow * weights[e])
            state[s, 0] = after
            end_degree = np.float64(ends[e])
            bar = state[s, 1] + eps * end_degree
            # written in any case and counted if it holds: a branch would often be mispredicted
            slots[count], touched[count], degrees[count] = s, w, end_degree
            count += np.uint64(key == _EMPTY)
            crossed = (before <= bar) & (bar < after)
            queue[tail] = s
            tail = (tail + np.uint64(crossed)) & mask
            waiting += int(crossed)
    return int(count), edges, 1


@compiled(nogil=True)
def rank_in_table(
    graph: Any, table: Any, count: int, rule: Any, v: Any, index: Any, score: Any
) -> None:
    r"""Write the best of the nodes touched; see :func:`herofilter.patchers.ppr.ranking.rank`.

    Their degrees are at hand here, and :math:`1 / \sqrt{d}` is what scores are scaled by, so that
    nearly all nodes that aren't among the best are known without reading another array.
    """
    scale = (1.0 - rule.c) * graph.left[v]
    stop, size, least = int(rule.ego_first), index.shape[0], 0.0
    for i in range(count):
        reach = scale * table.state[np.uint64(table.slots[i]), 0]
        if reach * reach >= least * table.degrees[i]:
            u = table.touched[i]
            stop = offer(v, u, reach, graph.right, graph.ids, rule.ego_first, stop, index, score)
            if stop == size:
                least = np.float64(score[size - 1]) ** 2 * _SPARE


@compiled(nogil=True)
def push_rows_in_table(
    graph: Any, ends: Any, table: Any, rule: Any, sources: Any, index: Any, score: Any, files: Any
) -> Any:
    """Fill rows until one doesn't fit into the table, and leave it empty.

    Returns:
        the edges read for the filled rows, and the number of these rows; -1 if a file failed.
    """
    total, keys, state = 0, table.keys, table.state
    for i in range(sources.shape[0]):
        v = sources[i]
        count, edges, fits = spread_in_table(graph, ends, table, rule.c, rule.eps, v, files)
        if fits == 1:
            total += edges
            rank_in_table(graph, table, count, rule, v, index[i], score[i])
        if _SHARE * count > keys.shape[0]:
            keys[:] = _EMPTY
            state[:] = 0.0
        else:
            for s in table.slots[:count]:
                keys[s] = _EMPTY
                state[s] = 0.0
        if fits < 1:
            return total, i if fits == 0 else -1
    return total, sources.shape[0]
