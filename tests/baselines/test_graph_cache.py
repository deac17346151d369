"""What is cached on a graph, and when it is computed again."""

import gc
import weakref

import torch

from herofilter.baselines.graph_cache import cached_on_graph
from tests.awkward import AWKWARD


class Result:
    """Something that can be referred to weakly."""


def test_cached_until_something_changes() -> None:
    data = AWKWARD["weighted"]()
    first = cached_on_graph(data, ("a",), Result)
    assert cached_on_graph(data, ("a",), Result) is first
    assert cached_on_graph(data, ("b",), Result) is not first
    assert cached_on_graph(data.clone(), ("a",), Result) is not first
    data.x[0] += 1
    second = cached_on_graph(data, ("a",), Result)
    assert second is not first
    data.edge_weight = data.edge_weight.clone()
    third = cached_on_graph(data, ("a",), Result)
    assert third is not second
    data.edge_index[0, 0] = 5
    assert cached_on_graph(data, ("a",), Result) is not third


def test_a_result_of_the_edges_alone_stays_when_features_change() -> None:
    data = AWKWARD["weighted"]()
    first = cached_on_graph(data, ("a",), Result, reads_features=False)
    assert cached_on_graph(data, ("a",), Result) is not first
    data.x[0] += 1
    data.x = data.x + 1
    assert cached_on_graph(data, ("a",), Result, reads_features=False) is first
    data.edge_weight = data.edge_weight.clone()
    second = cached_on_graph(data, ("a",), Result, reads_features=False)
    assert second is not first
    data.edge_index[0, 0] = 5
    assert cached_on_graph(data, ("a",), Result, reads_features=False) is not second


def test_graphs_that_share_their_edges_share_nothing_else() -> None:
    data = AWKWARD["weighted"]()
    other = data.clone()
    other.edge_index = data.edge_index
    sums = [cached_on_graph(graph, ("sum",), graph.x.sum) for graph in (data, other, data)]
    other.x = other.x + 1
    assert torch.equal(sums[0], sums[2])
    assert cached_on_graph(other, ("sum",), other.x.sum) != sums[0]
    larger = data.clone()
    larger.edge_index, larger.num_nodes = data.edge_index, 11
    count = [cached_on_graph(g, ("n",), lambda g=g: g.num_nodes) for g in (data, larger, data)]
    assert count == [10, 11, 10]


def test_the_cache_goes_with_the_edges() -> None:
    data = AWKWARD["plain"]()
    held = weakref.ref(cached_on_graph(data, ("a",), Result))
    assert held() is not None
    del data
    gc.collect()
    assert held() is None
