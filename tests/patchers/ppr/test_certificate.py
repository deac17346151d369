"""A certified row keeps its word: checked against the exact scores."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from herofilter.patchers import FastPatcher, Patches
from herofilter.patchers.ppr.certificate import certify
from herofilter.patchers.ppr.push import PushRule, spread, workspace
from herofilter.patchers.ppr.push_graph import rescale
from herofilter.patchers.ppr.series import closed_form
from herofilter.patchers.relations import PushRelation
from herofilter.spectral.adjacency import normalise


def power_law(n: int, seed: int, symmetric: bool, weighted: bool) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    weight = np.arange(1, n + 1) ** -0.7
    drawn = rng.choice(n, (2, 4 * n), p=weight / weight.sum())
    value = rng.random(4 * n) + 0.1 if weighted else np.ones(4 * n)
    dense = np.zeros((n, n))
    dense[drawn[0], drawn[1]] = value
    np.fill_diagonal(dense, 0)
    return sp.csr_array(np.maximum(dense, dense.T) if symmetric else dense)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("margin", [0.0, 0.05, 0.5])
@pytest.mark.parametrize(("c", "refine"), [(0.5, 400), (0.85, 4000)])
def test_no_node_left_out_exceeds_the_last_one(weighted, symmetric, margin, c, refine):
    certain = []
    for seed in range(3):
        matrix = power_law(150, seed, symmetric, weighted)
        exact = closed_form(normalise(matrix), c)
        np.fill_diagonal(exact, 0)
        # a coarse limit and a small budget, so that many rows stay in doubt
        found = PushRelation(matrix, c, 1e-2, True, refine, margin).top(np.arange(150), 8)
        for v in np.flatnonzero(found.certified):
            row = found.index[v, 1:]
            outside = np.delete(exact[v], row[row >= 0]).max()
            last = found.score[v, -1] if row[-1] >= 0 else 0.0
            assert outside <= (1 + margin) * last * (1 + 1e-5) + 1e-12
        certain.append(found.certified.mean())
    assert np.mean(certain) > 0


def star(leaves: int, weight: float = 1.0) -> sp.csr_array:
    """Return a star whose hub is the last node; its first edge has another weight."""
    dense = np.zeros((leaves + 1, leaves + 1))
    dense[:-1, -1] = dense[-1, :-1] = 1.0
    dense[0, -1] = dense[-1, 0] = weight
    return sp.csr_array(dense)


# on the first three the bounds are nearly reached, so that a smaller one would be wrong
TIGHT = {
    "pair": star(1),
    "star": star(9),
    "weighted star": star(4, 7.0),
    "symmetric": power_law(14, 1, True, True),
    "directed": power_law(14, 1, False, True),
}


EPS = 1e-9


class PausedPush:
    """A push from ``v`` that was paused after some edges, with mass still waiting."""

    def __init__(self, matrix: sp.csr_array, v: int, c: float, edges: int) -> None:
        self.graph, self.v, self.c = rescale(matrix), v, c
        space = workspace(self.graph, EPS)
        space.queue[0] = space.touched[0] = v
        space.work[v, 0] = 1.0
        count, _, _ = spread(self.graph, space, c, EPS, False, 1, 1, 0, edges)
        self.work, self.near = space.work, space.touched[:count]
        self.scores = (1 - c) * self.graph.left[v] * space.work[:, 0] * self.graph.right
        self.waiting = space.work[:, 0] - (space.work[:, 1] - EPS * self.graph.degree)

    def certify(self, lowest: float, margin: float = 0.0) -> bool:
        """Return whether a row whose last node has the score ``lowest`` is certified."""
        rule = PushRule(self.c, EPS, True, 1, margin, float(self.graph.right.max()))
        index, score = np.array([self.v, 0]), np.array([1.0, lowest])
        return certify(self.graph, self.work, self.near, self.v, self.c, EPS, rule, index, score)

    def bounds(self) -> tuple[float, np.ndarray]:
        """Return the bound of any node's error and that of each node, by the two formulas."""
        degree, start = self.graph.degree, self.graph.degree[self.v]
        everywhere = self.c * np.sqrt(start * (self.waiting**2 / degree).sum())
        nearby = self.c * np.sqrt(start * degree) * (self.waiting / degree).max()
        each = np.minimum(everywhere, nearby) if self.graph.symmetric else everywhere + 0 * degree
        return float(everywhere), each


@pytest.mark.parametrize("c", [0.02, 0.5, 0.85])
@pytest.mark.parametrize("name", TIGHT)
def test_a_row_that_lacks_a_better_node_is_refused(name: str, c: float) -> None:
    """The last score is set just below the exact score of a node that the row lacks."""
    matrix, refused = TIGHT[name], 0
    exact = closed_form(normalise(matrix), c)
    for v, edges in product(range(matrix.shape[0]), (0, 1, 3, 12)):
        push = PausedPush(matrix, v, c, edges)
        for u in range(matrix.shape[0]):
            lowest = exact[v, u] * (1 - 1e-5)
            if u != v and np.float32(push.scores[u]) < lowest:
                assert not push.certify(lowest)
                refused += 1
    assert refused


@pytest.mark.parametrize("c", [0.02, 0.5, 0.85])
@pytest.mark.parametrize("name", TIGHT)
def test_the_bounds_are_those_of_the_formulas(name: str, c: float) -> None:
    """A row stops being certified exactly at the last score that the formulas allow."""
    verdicts = set()
    for v, edges in product(range(TIGHT[name].shape[0]), (0, 1, 3, 12)):
        push = PausedPush(TIGHT[name], v, c, edges)
        everywhere, each = push.bounds()
        others = push.near[push.near != v]
        highest = push.scores + each
        for limit in (everywhere, *highest[others]):
            for factor, margin in product((1 - 1e-5, 1 + 1e-5), (0.0, 0.25)):
                bar = factor * limit
                lowest = bar / (1 + margin)
                left_out = others[push.scores[others].astype(np.float32) < lowest]
                certain = everywhere <= bar and bool((highest[left_out] <= bar).all())
                assert push.certify(lowest, margin) == certain
                verdicts.add(certain)
    assert verdicts == {True, False}


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_larger_budget_certifies_more_until_all_are(symmetric):
    matrix = power_law(150, 0, symmetric, True)
    shares = []
    for refine in (1, 300, 3000, 10**6):
        found = PushRelation(matrix, 0.5, 1e-2, True, refine, 0.0).top(np.arange(150), 8)
        shares.append(found.certified.mean())
    assert shares[0] < shares[1] < shares[2] <= shares[3] == 1.0


def test_budget_bounds_the_edges_of_full_rows():
    matrix = power_law(400, 0, True, True)
    nodes = np.arange(400)
    spent = [
        PushRelation(matrix, 0.5, 1e-3, True, refine, 0.0).top(nodes, 4).edges
        for refine in (0, 1500)
    ]
    most = np.diff(matrix.indptr).max()
    assert spent[0] < spent[1] <= max(spent[0], 400 * (1500 + most))


def path_graph(n: int) -> Data:
    ends = torch.arange(n - 1)
    return Data(edge_index=torch.stack([ends, ends + 1]), num_nodes=n)


def test_rows_are_filled_as_far_as_nodes_can_be_reached():
    data = path_graph(70)
    data.edge_index = data.edge_index[:, data.edge_index[0] != 29]
    stop = FastPatcher(32, method="push", tolerance=1e-3)(data)
    assert int(stop.mask.sum(1).max()) < 20
    patches = FastPatcher(32, method="push", tolerance=1e-3, refine=1)(data)
    # thirty nodes on one side of the gap, forty on the other
    assert patches.mask.sum(1).tolist() == [30] * 30 + [32] * 40
    assert bool(patches.certified[:30].all())
    assert stop.certified is None


def test_certified_rows_travel_with_the_patches(tmp_path):
    data = path_graph(20)
    settings = {"method": "push", "tolerance": 1e-7, "margin": 0.0}
    patches = FastPatcher(4, refine=1, **settings)(data)
    share = patches.certified.double().mean()
    assert 0 < share < 1
    patches.save(tmp_path / "patches.npz")
    assert torch.equal(Patches.load(tmp_path / "patches.npz").certified, patches.certified)
    rows = torch.tensor([3, 0])
    assert torch.equal(patches.take(rows).certified, patches.certified[rows])
    some = FastPatcher(4, refine=1, **settings)(data, rows).for_all_nodes()
    assert torch.equal(some.certified[rows], patches.certified[rows])
    assert int(some.certified.sum()) == int(patches.certified[rows].sum())
    both = Patches.join([patches, patches], ["a", "b"])
    assert torch.equal(both.certified, patches.certified)
    assert both.slot("a").certified is None


@pytest.mark.parametrize("name", ["refine", "margin", "hub_limit"])
def test_negative_settings(name):
    with pytest.raises(ValueError, match=rf"^{name} must not be negative \(got -1\)$"):
        FastPatcher(**{name: -1})
