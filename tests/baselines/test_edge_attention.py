"""Products along edges against dense algebra, there and back."""

import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from herofilter.baselines.edge_attention import edge_dots, edge_product, edge_softmax
from herofilter.baselines.edge_list import Edges, edges_of
from tests.awkward import AWKWARD


def some(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, requires_grad=True)


@pytest.fixture(params=["plain", "directed", "isolated_nodes", "self_loops", "duplicates"])
def edges(request: pytest.FixtureRequest) -> Edges:
    return edges_of(AWKWARD[request.param](), loops=False)


def dense(edges: Edges, value: Tensor) -> Tensor:
    # [n, n, a]
    out = torch.zeros(edges.num_nodes, edges.num_nodes, value.size(1))
    return out.index_put((edges.target, edges.source), value)


def check(found: Tensor, expected: Tensor, leaves: list[Tensor]) -> None:
    torch.testing.assert_close(found, expected)
    upstream = some(*found.shape, seed=9).detach()
    back = [torch.autograd.grad((out * upstream).sum(), leaves) for out in (found, expected)]
    torch.testing.assert_close(*back)


def test_product(edges: Edges) -> None:
    value, hidden = some(edges.source.numel(), 2), some(edges.num_nodes, 2, 5, seed=1)
    expected = torch.einsum("vua,uac->vac", dense(edges, value), hidden)
    check(edge_product(edges, value, hidden), expected, [value, hidden])


def test_dots(edges: Edges) -> None:
    query, key = some(edges.num_nodes, 3, 4), some(edges.num_nodes, 3, 4, seed=1)
    expected = (query[edges.target] * key[edges.source]).sum(2)
    check(edge_dots(edges, query, key), expected, [query, key])


def test_softmax(edges: Edges) -> None:
    score = some(edges.source.numel(), 2)
    scores = dense(edges, score)
    absent = dense(edges, torch.ones_like(score)) == 0
    weights = scores.masked_fill(absent, -1e9).softmax(1)
    expected = weights[edges.target, edges.source]
    check(edge_softmax(edges, score), expected, [score])


def test_softmax_of_large_scores_stays_finite() -> None:
    edges = Edges.of(sp.csr_array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    found = edge_softmax(edges, torch.tensor([[1e4], [1e4]]))
    assert found.view(-1).tolist() == [0.5, 0.5]


def test_weights_of_one_pair_are_added_and_loops_are_counted_once() -> None:
    data = AWKWARD["duplicates"]()
    edges = edges_of(data, loops=False)
    pairs = torch.stack([edges.source, edges.target])
    assert pairs.unique(dim=1).size(1) == pairs.size(1)
    twice = torch.unique(data.edge_index, dim=1, return_counts=True)[1].max()
    assert float(edges.weight.max()) == float(twice) > 1
    looped = edges_of(AWKWARD["self_loops"](), loops=True)
    assert int((looped.source == looped.target).sum()) == looped.num_nodes
