r"""Local push: the largest entries of a row of a Neumann series, touching only nodes nearby.

Row :math:`v` of :math:`(1-c)\sum_k c^k \mathbf{M}^k` sums discounted walks from :math:`v`. A push
takes the mass that has reached a node and not gone on yet, and sends it along the node's edges;
nodes whose waiting mass is below a limit are left alone. What reached a node, pushed on or not,
counts as its score, so every score is a lower bound that rises to the exact one with the limit.
:mod:`herofilter.patchers.ppr.certificate` says how far below it can be.
"""

from typing import Any, NamedTuple

import numpy as np

from herofilter.jit import compiled
from herofilter.patchers.ppr.certificate import certify
from herofilter.patchers.ppr.prefetch import prefetch
from herofilter.patchers.ppr.push_graph import PushGraph
from herofilter.patchers.ppr.ranking import rank

FINER = 0.25
FINEST = 1e-30
NO_LIMIT = np.int64(2**62)
# how many edges before it is read the state of an edge's end is prefetched
PREFETCH_DISTANCE = np.uint64(24)
TWO, THREE = np.uint64(2), np.uint64(3)


class PushRule(NamedTuple):
    """When to stop.

    ``eps``: mass waits at a node while it is at most ``eps`` times its degree. ``refine``: edges
    that may be read for a row until it is certified to ``margin``; 0 certifies none. ``most`` is
    the largest factor ``right`` of the graph.
    """

    c: float
    eps: float
    ego_first: bool
    refine: int
    margin: float
    most: float


class PushSpace(NamedTuple):
    """The scratch arrays of one thread.

    ``work[u]`` holds the mass that reached ``u`` and the bar above which ``u`` must be pushed: the
    mass already pushed on plus ``eps * degree[u]``.
    """

    work: np.ndarray
    queue: np.ndarray
    touched: np.ndarray
    pushed: np.ndarray


def workspace(graph: PushGraph, eps: float) -> PushSpace:
    """Return the arrays of one thread, ready for the first source."""
    size = graph.degree.size
    work = np.zeros((size, 2))
    work[:, 1] = eps * graph.degree
    kind = graph.indices.dtype
    # a power of two, so that a mask wraps positions in the queue
    queue = np.empty(1 << max(1, size).bit_length(), dtype=kind)
    # one more entry than nodes: the one after the last is written, too
    touched, pushed = np.empty(size + 1, dtype=kind), np.empty(size, dtype=kind)
    return PushSpace(work, queue, touched, pushed)


@compiled(nogil=True)
def spread(
    graph: Any,
    space: Any,
    c: float,
    eps: float,
    finer: bool,
    waiting: int,
    count: int,
    senders: int,
    most: int,
) -> Any:
    """Push what waits in the queue; return how many nodes were touched and pushed, and edges.

    A node waits in the circular queue exactly while it is above its bar, so crossing the bar is
    the sign to enqueue it and no flags are needed. With ``finer`` the limit is below that of
    :func:`workspace`, and nodes get their bars when they are touched first. It ends early after
    ``most`` edges.
    """
    work, queue, touched, pushed = space.work, space.queue, space.touched, space.pushed
    indptr, indices, weights, degree = graph.indptr, graph.indices, graph.weights, graph.degree
    # unsigned positions spare the test for negative ones in the innermost loop
    one, mask = np.uint64(1), np.uint64(queue.shape[0] - 1)
    head, tail = np.uint64(0), np.uint64(waiting)
    edges, ready = 0, False
    while waiting > 0 and edges < most:
        u = np.uint64(queue[head])
        head = (head + one) & mask
        waiting -= 1
        # what a node needs is prefetched while the nodes before it are pushed; each address is
        # read from an array that was prefetched one node earlier
        if waiting > 3:
            fourth = np.uint64(queue[(head + THREE) & mask])
            prefetch(indptr, fourth)
            prefetch(degree, fourth)
        if waiting > 2:
            prefetch(indices, np.uint64(indptr[np.uint64(queue[(head + TWO) & mask])]))
        start, stop = np.uint64(indptr[u]), np.uint64(indptr[u + one])
        edges += int(stop - start)
        if not ready:
            for e in range(start, min(stop, start + PREFETCH_DISTANCE)):
                prefetch(work, np.uint64(indices[e]))
        ready = waiting > 0
        if ready:
            following = np.uint64(queue[head])
            first, last = np.uint64(indptr[following]), np.uint64(indptr[following + one])
            for e in range(first, min(last, first + PREFETCH_DISTANCE)):
                prefetch(work, np.uint64(indices[e]))
        total = work[u, 0]
        limit = eps * degree[u]
        if work[u, 1] == limit:
            pushed[senders] = u
            senders += 1
        flow = c * (total - (work[u, 1] - limit)) / degree[u]
        work[u, 1] = total + limit
        for e in range(start, stop):
            if e + PREFETCH_DISTANCE < stop:
                prefetch(work, np.uint64(indices[e + PREFETCH_DISTANCE]))
            w = np.uint64(indices[e])
            before = work[w, 0]
            after = before + flow * weights[e]
            work[w, 0] = after
            # written in any case and counted if it holds: a branch would often be mispredicted
            fresh = (before == 0.0) & (after > 0.0)
            touched[count] = indices[e]
            count += int(fresh)
            if finer and fresh:
                work[w, 1] = eps * degree[w]
            bar = work[w, 1]
            crossed = (before <= bar) & (bar < after)
            queue[tail] = indices[e]
            tail = (tail + np.uint64(crossed)) & mask
            waiting += int(crossed)
    return count, senders, edges


@compiled(nogil=True)
def lower_bars(graph: Any, space: Any, count: int, eps: float, finer: float) -> int:
    """Lower the limit from ``eps`` to ``finer``; enqueue the nodes above it, and count them."""
    work, waiting = space.work, 0
    for u in space.touched[:count]:
        old = eps * graph.degree[u]
        # exact for a node that never pushed: such nodes are recognised by their bar
        sent = 0.0 if work[u, 1] == old else work[u, 1] - old
        work[u, 1] = sent + finer * graph.degree[u]
        if work[u, 0] > work[u, 1]:
            space.queue[waiting] = u
            waiting += 1
    return waiting


@compiled(nogil=True)
def push_row(graph: Any, space: Any, rule: Any, v: Any, index: Any, score: Any) -> Any:
    """Fill one row; return the number of edges read and whether it is certified."""
    c, eps, work = rule.c, rule.eps, space.work
    space.queue[0] = v
    space.touched[0] = v
    work[v, 0] = 1.0
    scale = (1.0 - c) * graph.left[v]
    count, senders, edges = spread(graph, space, c, eps, False, 1, 1, 0, NO_LIMIT)
    sure = False
    while True:
        near = space.touched[:count]
        # the entries of an earlier, coarser round would compete with themselves
        index[:] = -1
        score[:] = 0.0
        filled = rank(
            v,
            near,
            near,
            work[:, 0],
            scale,
            graph.right,
            rule.most,
            graph.ids,
            rule.ego_first,
            index,
            score,
        )
        if rule.refine == 0:
            break
        # once all that was touched has pushed, nothing else can be reached
        closed = senders == count
        short = filled < index.shape[0]
        if short and closed:
            sure = True
            break
        sure = not short and certify(graph, work, near, v, c, eps, rule, index, score)
        if sure or eps < FINEST or (not short and edges >= rule.refine):
            break
        waiting = lower_bars(graph, space, count, eps, eps * FINER)
        eps *= FINER
        left = NO_LIMIT if short else rule.refine - edges
        count, senders, more = spread(graph, space, c, eps, True, waiting, count, senders, left)
        edges += more
    for u in space.touched[:count]:
        work[u, 0] = 0.0
    # a bar has moved only where mass was pushed, unless the limit has moved all of them
    for u in space.pushed[:senders] if eps == rule.eps else space.touched[:count]:
        work[u, 1] = rule.eps * graph.degree[u]
    return edges, sure


@compiled(nogil=True)
def push_rows(
    graph: Any, space: Any, rule: Any, sources: Any, index: Any, score: Any, certified: Any
) -> int:
    """Fill one row per source, leave ``space`` as it was, and return the number of edges read."""
    edges = 0
    for i in range(sources.shape[0]):
        more, sure = push_row(graph, space, rule, sources[i], index[i], score[i])
        certified[i] = sure
        edges += more
    return edges
