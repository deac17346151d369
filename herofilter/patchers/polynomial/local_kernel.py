"""Rows of a polynomial by a Chebyshev recurrence that only expands large entries.

A source works on the nodes that it touches, numbered from 0 in the order in which they are
reached: their values, their degrees and the edges of those that were expanded lie close together.
The only array of the graph's size maps a node to its number.
"""

from typing import Any, NamedTuple

import numpy as np

from herofilter.jit import compiled
from herofilter.patchers.polynomial.local_ranking import certify_local, rank_local
from herofilter.patchers.ppr.push_graph import PushGraph

FINER = 0.25
FINEST = 1e-12
NO_LIMIT = np.int64(2**62)


class LocalRule(NamedTuple):
    r"""What to sum and when to stop.

    ``weights`` [f, K + 1] are the coefficients, ``factors`` [f, K] their :func:`error_factors`.
    An entry of step k is expanded if ``gains[k]`` times its modulus exceeds ``eps`` times the root
    of its degree. ``refine``: edges that may be read until a row is certified to ``margin``; 0
    certifies none.
    """

    weights: np.ndarray
    factors: np.ndarray
    gains: np.ndarray
    eps: float
    exclude_self: bool
    refine: int
    margin: float


class LocalSpace(NamedTuple):
    """The scratch arrays of one thread.

    ``number`` [n] is -1 for nodes that aren't touched. For those that are, ``nodes`` has their
    positions, ``values`` [n, K + 1] the entries of each step, ``degree`` their degrees, and
    ``first`` where their edges start in ``ends``, -1 if those haven't been read.
    """

    number: np.ndarray
    nodes: np.ndarray
    values: np.ndarray
    degree: np.ndarray
    first: np.ndarray
    ends: np.ndarray


def local_space(graph: PushGraph, order: int) -> LocalSpace:
    """Return the arrays of one thread; memory is taken as far as they are used."""
    size = graph.degree.size
    return LocalSpace(
        np.full(size, -1, np.int32),
        np.empty(size, np.int32),
        np.empty((size, order + 1)),
        np.empty(size),
        np.empty(size, np.int64),
        np.empty(graph.indices.size, np.int32),
    )


@compiled(nogil=True)
def touch(graph: Any, space: Any, u: Any, count: int) -> int:
    """Give node ``u`` the number ``count`` and return the next one."""
    space.number[u] = count
    space.nodes[count] = u
    space.degree[count] = graph.degree[u]
    space.first[count] = -1
    for k in range(space.values.shape[1]):
        space.values[count, k] = 0.0
    return count + 1


@compiled(nogil=True)
def read_edges(graph: Any, space: Any, p: int, count: int, used: int) -> Any:
    """Store the numbers of the neighbours of ``p``, and touch those that have none."""
    u = space.nodes[p]
    space.first[p] = used
    for e in range(graph.indptr[u], graph.indptr[u + 1]):
        w = graph.indices[e]
        if space.number[w] < 0:
            count = touch(graph, space, w, count)
        space.ends[used] = space.number[w]
        used += 1
    return count, used


@compiled(nogil=True)
def recur(
    graph: Any, space: Any, rule: Any, eps: float, count: int, used: int, most: int, left_out: Any
) -> Any:
    """Run the recurrence from number 0; write the squared norm of what each step left out.

    Return how many nodes are touched, how many edges are stored and were followed, and whether
    ``most`` edges were enough. Nodes and edges of an earlier run stay.
    """
    values, degree, ends, weights = space.values, space.degree, space.ends, graph.weights
    root = graph.left[space.nodes[0]]
    values[:count] = 0.0
    values[0, 0] = 1.0
    edges = 0
    for k in range(rule.gains.size):
        if k > 0:
            for p in range(count):
                values[p, k + 1] = -values[p, k - 1]
        factor = 1.0 if k == 0 else 2.0
        # the source is always expanded
        limit = 0.0 if k == 0 else eps / root
        left_out[k] = 0.0
        for p in range(count):
            value = values[p, k]
            if value == 0.0:
                continue
            if rule.gains[k] * abs(value) <= limit * degree[p]:
                left_out[k] += value * value / degree[p]
                continue
            if space.first[p] < 0:
                count, used = read_edges(graph, space, p, count, used)
            u, start = space.nodes[p], space.first[p]
            size = graph.indptr[u + 1] - graph.indptr[u]
            edges += size
            if edges > most:
                return count, used, edges, False
            flow, offset = factor * value / degree[p], graph.indptr[u]
            for e in range(size):
                values[ends[start + e], k + 1] += flow * weights[offset + e]
        left_out[k] *= root * root
    return count, used, edges, True


@compiled(nogil=True)
def local_row(
    graph: Any,
    space: Any,
    rule: Any,
    starts: Any,
    sums: Any,
    v: Any,
    index: Any,
    score: Any,
    own: Any,
    certified: Any,
    with_basis: bool,
    basis: Any,
) -> Any:
    """Fill one row of all filters; return the number of edges followed."""
    left_out = np.zeros(rule.gains.size)
    eps, edges = rule.eps, 0
    count, used = touch(graph, space, v, 0), 0
    most = NO_LIMIT
    while True:
        count, used, more, complete = recur(graph, space, rule, eps, count, used, most, left_out)
        edges += more
        # a round that ends early would be worse than the one before
        if not complete:
            break
        sure = True
        for f in range(rule.weights.shape[0]):
            part = slice(starts[f], starts[f + 1])
            filled, peak = rank_local(graph, space, rule, f, count, sums, index[part], score[part])
            own[f] = sums[0]
            if rule.refine > 0:
                certified[f] = certify_local(
                    graph,
                    space,
                    rule,
                    f,
                    count,
                    sums,
                    filled,
                    peak,
                    left_out,
                    index[part],
                    score[part],
                )
                sure = sure and certified[f]
        if with_basis:
            for j in range(index.shape[0]):
                if index[j] >= 0:
                    p, scale = space.number[index[j]], graph.left[v] * graph.right[index[j]]
                    for k in range(basis.shape[1]):
                        basis[j, k] = scale * space.values[p, k]
                else:
                    basis[j] = 0.0
        if rule.refine == 0 or sure or edges >= rule.refine or eps < FINEST:
            break
        most = rule.refine - edges
        eps *= FINER
    for p in range(count):
        space.number[space.nodes[p]] = -1
    return edges


@compiled(nogil=True)
def local_rows(
    graph: Any,
    space: Any,
    rule: Any,
    starts: Any,
    sums: Any,
    sources: Any,
    index: Any,
    score: Any,
    own: Any,
    certified: Any,
    with_basis: bool,
    basis: Any,
) -> int:
    """Fill the rows of ``sources``, leave ``space`` as it was, and return the edges followed.

    Args:
        starts: ``[f + 1]``, where the columns of each filter start.
        sums: ``[n]``, scratch.
        index, score: ``[m, w]``, positions and scores.
        own: ``[m, f]``, the source's own scores.
        certified: ``[m, f]``, written where ``refine`` isn't 0.
        with_basis, basis: whether to write ``[m, w, K + 1]``.
    """
    edges = 0
    for i in range(sources.size):
        edges += local_row(
            graph,
            space,
            rule,
            starts,
            sums,
            sources[i],
            index[i],
            score[i],
            own[i],
            certified[i],
            with_basis,
            basis[i],
        )
    return edges
