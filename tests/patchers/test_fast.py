import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch_geometric.data import Data

from herofilter.errors import ConfigError, GraphError, OutOfMemoryError
from herofilter.patchers.fast import FastPatcher
from herofilter.patchers.patches import Slot
from herofilter.patchers.ppr import series
from herofilter.patchers.relations import PushRelation, SeriesRelation
from herofilter.spectral.adjacency import normalised_adjacency
from tests.events import steps


@st.composite
def graphs(draw) -> Data:
    n = draw(st.integers(1, 12))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=30))
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()
    data = Data(edge_index=edge_index, num_nodes=n)
    if draw(st.booleans()):
        weights = draw(
            st.lists(st.floats(0.125, 8, width=32), min_size=len(edges), max_size=len(edges))
        )
        data.edge_weight = torch.tensor(weights, dtype=torch.float32)
    return data


def matrix_of(data: Data, patcher: FastPatcher):
    return normalised_adjacency(
        data.edge_index,
        data.num_nodes,
        data.edge_weight,
        self_loops=patcher.self_loops,
        directed=patcher.directed,
    )


def random_graph(n: int = 40, m: int = 120, seed: int = 0, weighted: bool = True) -> Data:
    generator = torch.Generator().manual_seed(seed)
    data = Data(edge_index=torch.randint(n, (2, m), generator=generator), num_nodes=n)
    if weighted:
        data.edge_weight = torch.rand(m, generator=generator) + 0.1
    return data


@settings(max_examples=150, deadline=None)
@given(
    data=graphs(),
    c=st.sampled_from([0.0, 0.3, 0.5, 0.85]),
    method=st.sampled_from(["series", "push"]),
    directed=st.sampled_from(["symmetrise", "keep"]),
    ego=st.sampled_from(["first", "ranked"]),
    self_loops=st.booleans(),
    share=st.floats(0, 1),
)
def test_equals_the_dense_inverse(data, c, method, directed, ego, self_loops, share):
    n = data.num_nodes
    p = max(1, round(share * n))
    patcher = FastPatcher(p, c, method, 1e-12, self_loops, directed, ego)
    patches = patcher(data)
    exact = series.closed_form(matrix_of(data, patcher), c)
    for v in range(n):
        index, score = patches.index[v].numpy(), patches.score[v].numpy()
        filled = index >= 0
        chosen = index[filled]
        assert len(set(chosen.tolist())) == chosen.size
        assert (score[~filled] == 0).all()
        assert (np.diff(filled.astype(int)) <= 0).all()
        np.testing.assert_allclose(score[filled], exact[v, chosen], rtol=1e-5, atol=1e-8)
        ranked = np.arange(n)
        if ego == "first":
            assert chosen[0] == v
            ranked, chosen, score = np.delete(ranked, v), chosen[1:], score[1:]
        # reachable nodes have at least this much, others only rounding errors of the inverse
        room = p - (ego == "first")
        reachable = np.sort(exact[v, ranked][exact[v, ranked] > 1e-13])[::-1]
        best = reachable[:room]
        clear = best[best > 1e-7]
        np.testing.assert_allclose(score[: clear.size], clear, rtol=1e-5, atol=1e-8)
        assert (exact[v, chosen] > 0).all()


@pytest.mark.parametrize("c", [0.1, 0.5, 0.9])
def test_closed_form_series_and_recurrence_agree(c):
    data = random_graph()
    matrix = matrix_of(data, FastPatcher())
    exact = series.closed_form(matrix, c)
    summed = series.neumann_rows(matrix, np.arange(40), c, 1e-12)
    np.testing.assert_allclose(summed, exact, atol=1e-11)
    np.testing.assert_allclose(c * matrix @ exact + (1 - c) * np.eye(40), exact, atol=1e-12)


def test_series_error_is_within_the_tolerance():
    matrix = matrix_of(random_graph(), FastPatcher())
    exact = series.closed_form(matrix, 0.7)
    for tolerance in (0.5, 1e-2, 1e-4):
        rows = series.neumann_rows(matrix, np.arange(40), 0.7, tolerance)
        assert (np.linalg.norm(exact - rows, axis=1) <= tolerance).all()


@given(c=st.floats(0.01, 0.99), tolerance=st.floats(1e-12, 0.9))
def test_num_steps_is_the_smallest(c, tolerance):
    steps = series.num_steps(c, tolerance)
    assert c ** (steps + 1) <= tolerance * (1 + 1e-9)
    assert steps == 0 or c**steps > tolerance * (1 - 1e-9)


@pytest.mark.parametrize("c", [0.2, 0.5, 0.9])
def test_closed_form_minimises_the_objective(c):
    matrix = matrix_of(random_graph(), FastPatcher())
    exact = series.closed_form(matrix, c)
    rng = np.random.default_rng(0)
    for v in (0, 17, 39):
        lowest = series.objective(exact[v], matrix, v, c)
        for size in (1e-3, 1e-1, 1.0):
            step = rng.normal(size=40) * size
            assert series.objective(exact[v] + step, matrix, v, c) > lowest
        step = rng.normal(size=40) * 1e-4
        up, down = (series.objective(exact[v] + s * step, matrix, v, c) for s in (1, -1))
        assert abs(up - down) < 1e-12


@pytest.mark.parametrize("method", ["series", "push"])
def test_stopping_at_dangling_nodes_only_rescales(method):
    data = random_graph(m=60)
    patcher = FastPatcher(12, 0.8, method, 1e-12, self_loops=False, directed="keep")
    patches = patcher(data)
    matrix = matrix_of(data, patcher).toarray()
    dangling = (matrix.sum(axis=1) == 0).astype(float)
    assert 0 < dangling.sum() < 40
    for v in range(40):
        seed = np.eye(40)[v]
        returning = matrix + np.outer(dangling, seed)
        row = 0.2 * seed @ np.linalg.inv(np.eye(40) - 0.8 * returning)
        chosen = patches.index[v][patches.index[v] >= 0].numpy()
        score = patches.score[v][: chosen.size].double().numpy()
        np.testing.assert_allclose(score / score[0], row[chosen] / row[v], rtol=1e-5)


@pytest.mark.parametrize("method", ["series", "push"])
@pytest.mark.parametrize("directed", ["symmetrise", "keep"])
def test_permutation_equivariance(method, directed):
    data = random_graph()
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    moved = Data(
        edge_index=order[data.edge_index], edge_weight=data.edge_weight.flip(0), num_nodes=40
    )
    moved.edge_index = moved.edge_index.flip(1)
    patcher = FastPatcher(6, method=method, directed=directed, tolerance=1e-9)
    here, there = patcher(data), patcher(moved)
    padded = torch.cat([order, torch.tensor([-1])])
    assert torch.equal(padded[here.index], there.index[order])
    torch.testing.assert_close(here.score, there.score[order])


@pytest.mark.parametrize("method", ["auto", "series", "push"])
def test_subset_equals_rows_of_all_nodes(method, monkeypatch):
    data = random_graph()
    patcher = FastPatcher(5, method=method)
    expected = patcher(data)
    nodes = torch.tensor([7, 3, 39, 7])
    monkeypatch.setattr(series, "BLOCK_BYTES", 4 * 8 * 40 * 3)
    some = patcher(data, nodes)
    assert torch.equal(some.nodes, nodes)
    assert torch.equal(some.index, expected.index[nodes])
    assert torch.equal(some.score, expected.score[nodes])
    mask = torch.zeros(40, dtype=torch.bool)
    mask[[3, 7]] = True
    assert patcher(data, mask).nodes.tolist() == [3, 7]
    assert patcher(data, torch.tensor([], dtype=torch.long)).index.shape == (0, 5)


@pytest.mark.parametrize("method", ["series", "push"])
def test_without_edges_there_is_only_the_ego(method):
    data = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=3)
    for self_loops, own_score in ((True, 1.0), (False, 0.5)):
        patches = FastPatcher(2, method=method, self_loops=self_loops, tolerance=1e-9)(data)
        assert patches.index.tolist() == [[0, -1], [1, -1], [2, -1]]
        torch.testing.assert_close(patches.score[:, 0], torch.full((3,), own_score))


def test_directions():
    path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    kept = FastPatcher(3, directed="keep")(path)
    assert kept.index.tolist() == [[0, 1, 2], [1, 2, -1], [2, -1, -1]]
    assert FastPatcher(3)(path).index.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]


@pytest.mark.parametrize("method", ["series", "push"])
def test_ranked_ego_may_lose_first_place(method):
    # every second step of a walk from a leaf is at the hub, so the hub outranks the leaf itself
    star = Data(edge_index=torch.tensor([[0] * 8, list(range(1, 9))]), num_nodes=9)
    patcher = FastPatcher(3, 0.9, method, 1e-9, ego="ranked", self_loops=False)
    patches = patcher(star)
    assert patches.index[1].tolist() == [0, 1, 2]
    assert patches.slots == (Slot("out", 0, 3),)
    first = FastPatcher(3, 0.9, method, 1e-9, self_loops=False)(star)
    assert first.index[1].tolist() == [1, 0, 2]
    assert first.slots == (Slot("ego", 0, 1), Slot("out", 1, 3))
    assert FastPatcher(1, method=method)(star).slots == (Slot("ego", 0, 1),)


def test_auto_takes_the_series_only_where_it_is_cheap():
    data = random_graph(20_000, 100_000)
    (_, _, small), *_ = FastPatcher(4).prepare(random_graph()).parts
    (_, _, large), *_ = FastPatcher(4, tolerance=1e-3).prepare(data).parts
    assert isinstance(small, SeriesRelation)
    assert isinstance(large, PushRelation)


def test_progress_of_the_series(monkeypatch):
    monkeypatch.setattr(series, "BLOCK_BYTES", 4 * 8 * 40 * 16)
    calls = []
    FastPatcher(3, method="series")(random_graph(), callback=calls.append)
    assert steps(calls) == [(16, 40), (32, 40), (40, 40)]


def test_memory_grows_linearly():
    for method in ("auto", "push"):
        patcher = FastPatcher(32, method=method)
        small, large = (patcher.memory(n, 10 * n) for n in (1_000_000, 2_000_000))
        assert large == 2 * small
        assert small > 1_000_000 * 32 * 12
    assert FastPatcher(8, method="series").memory(100_000, 1_000_000) < 2**30


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"patch_size": 0}, "patch_size must be at least 1 (got 0)"),
        ({"c": 1.0}, "c must be at least 0 and below 1 (got 1.0)"),
        ({"c": float("nan")}, "c must be at least 0 and below 1 (got nan)"),
        ({"tolerance": 0.0}, "tolerance must be above 0 and below 1 (got 0.0)"),
        (
            {"method": "pusch"},
            "method must be one of auto, series, push (got 'pusch') (did you mean 'push'?)",
        ),
        (
            {"directed": "kept"},
            "directed must be one of symmetrise, keep (got 'kept') (did you mean 'keep'?)",
        ),
        ({"ego": "last"}, "ego must be one of first, ranked (got 'last')"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ConfigError) as error:
        FastPatcher(**settings)
    assert str(error.value) == message


def test_graph_is_checked():
    with pytest.raises(ConfigError) as error:
        FastPatcher(64)(random_graph())
    assert str(error.value) == (
        "patch_size must be between 1 and the number of nodes (got 64; the graph has 40 nodes)"
    )
    with pytest.raises(GraphError) as error:
        FastPatcher(4)(random_graph(), torch.tensor([3, 40]))
    assert str(error.value) == "nodes must be between 0 and 39 (got 3 to 40)"
    with pytest.raises(OutOfMemoryError, match=r"at most 10000 nodes.*got 20000"):
        series.closed_form(matrix_of(random_graph(20_000), FastPatcher()), 0.5)
