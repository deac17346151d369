"""Relations of the fast patcher: out, in, co-reference and co-citation, and their summaries."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.errors import ConfigError
from herofilter.nn import HeroFilter
from herofilter.patchers import FastPatcher, RelationSummary, Slot
from herofilter.patchers.summary import SERIES_STEPS
from herofilter.settings import RELATIONS, ModelConfig
from herofilter.spectral.adjacency import normalised_adjacency
from tests import awkward
from tests.events import steps


def directed_graph(n: int = 30, edges: int = 90, seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    return Data(
        edge_index=torch.randint(n, (2, edges), generator=generator),
        edge_weight=torch.rand(edges, generator=generator) + 0.1,
        num_nodes=n,
    )


def matrix(data: Data, self_loops: bool = False, directed: str = "keep") -> np.ndarray:
    csr = normalised_adjacency(
        data.edge_index,
        data.num_nodes,
        data.get("edge_weight"),
        self_loops=self_loops,
        directed=directed,
    )
    return csr.toarray()


def scores(data: Data, relation: str, c: float, self_loops: bool = False) -> np.ndarray:
    n = matrix(data, self_loops)
    if relation in ("in", "cocitation"):
        n = n.T
    if relation in ("coreference", "cocitation"):
        return n @ n.T
    return (1 - c) * np.linalg.inv(np.eye(len(n)) - c * n)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("method", ["series", "push"])
def test_each_relation_ranks_its_own_matrix(relation: str, self_loops: bool, method: str) -> None:
    data = directed_graph()
    patcher = FastPatcher(
        6,
        method=method,
        tolerance=1e-12,
        self_loops=self_loops,
        directed="keep",
        relations=(relation,),
    )
    patches = patcher(data)
    expected = scores(data, relation, 0.5, self_loops)
    np.fill_diagonal(expected, -1)
    for v in range(data.num_nodes):
        best = np.sort(expected[v][expected[v] > 1e-9])[::-1][:5]
        found = patches.score[v, 1:][patches.mask[v, 1:]].numpy()
        np.testing.assert_allclose(found, best, rtol=1e-5)
        np.testing.assert_allclose(found, expected[v, patches.index[v, 1 : 1 + len(found)]], 1e-5)


def test_relations_share_the_columns_and_name_their_slots() -> None:
    patches = FastPatcher(8, directed="keep", relations=RELATIONS)(directed_graph())
    assert patches.slots == (
        Slot("ego", 0, 1),
        Slot("out", 1, 3),
        Slot("in", 3, 5),
        Slot("coreference", 5, 7),
        Slot("cocitation", 7, 8),
    )
    alone = FastPatcher(3, directed="keep", relations=("in",))(directed_graph())
    assert torch.equal(patches.slot("in").index, alone.index[:, 1:])


def test_a_patch_without_room_for_all_keeps_the_first_relations() -> None:
    names = [slot.name for slot in FastPatcher(3, relations=RELATIONS)(directed_graph()).slots]
    assert names == ["ego", "out", "in"]
    only_ego = FastPatcher(1, relations=RELATIONS)(directed_graph())
    assert [slot.name for slot in only_ego.slots] == ["ego"]


def test_without_directions_both_ways_are_the_same() -> None:
    data = directed_graph()
    one, other = (FastPatcher(6, relations=(name,))(data) for name in ("out", "in"))
    assert torch.equal(one.index, other.index)
    one, other = (FastPatcher(6, relations=(n,))(data) for n in ("coreference", "cocitation"))
    assert torch.equal(one.index, other.index)


def test_hubs_beyond_the_tolerance_are_skipped() -> None:
    star = Data(edge_index=torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]]), num_nodes=5)
    settings = {"patch_size": 3, "self_loops": False, "directed": "keep"}
    seen = FastPatcher(relations=("coreference",), **settings)(star)
    assert seen.index[1].tolist() == [1, 2, 3]
    # five edges are more than 1 / 0.3
    blind = FastPatcher(relations=("coreference",), tolerance=0.3, **settings)(star)
    assert blind.index[1].tolist() == [1, -1, -1]


def test_progress_runs_through_all_relations() -> None:
    calls = []
    FastPatcher(5, relations=("out", "cocitation"))(directed_graph(), callback=calls.append)
    assert steps(calls) == [(30, 60), (60, 60)]


@pytest.mark.parametrize("name", awkward.AWKWARD)
def test_awkward_graphs(name: str) -> None:
    data = awkward.AWKWARD[name]()
    p = min(5, data.num_nodes)
    patcher = FastPatcher(p, directed="keep", relations=RELATIONS)
    assert patcher(data).index.shape == (data.num_nodes, p)
    summary = RelationSummary(data, patcher).summarise(torch.ones(data.num_nodes, 2))
    assert summary.shape == (4, data.num_nodes, 2)
    assert bool(torch.isfinite(summary).all())


@pytest.mark.parametrize(
    ("relations", "message"),
    [
        ((), "relations must name at least one relation and none twice (got none)"),
        (("in", "in"), "relations must name at least one relation and none twice (got in,in)"),
        (
            ("inn",),
            "a relation must be one of out, in, coreference, cocitation (got 'inn') "
            "(did you mean 'in'?)",
        ),
    ],
)
def test_errors(relations: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        FastPatcher(relations=relations)
    assert str(error.value) == message


@pytest.mark.parametrize("relation", RELATIONS)
def test_summary_is_the_product_with_the_full_matrix(relation: str) -> None:
    data = directed_graph()
    patcher = FastPatcher(5, c=0.3, self_loops=False, directed="keep", relations=(relation,))
    hidden = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    n = matrix(data)
    n = n.T if relation in ("in", "cocitation") else n
    if relation in ("coreference", "cocitation"):
        expected = n @ n.T
    else:
        weights = 0.3 ** np.arange(SERIES_STEPS)
        powers = [np.linalg.matrix_power(n, k + 1) for k in range(SERIES_STEPS)]
        expected = sum(w * p for w, p in zip(weights / weights.sum(), powers, strict=True))
    nodes = torch.tensor([3, 0, 7])
    found = RelationSummary(data, patcher).summarise(hidden, nodes)[0]
    np.testing.assert_allclose(found.numpy(), (expected @ hidden.numpy())[nodes], atol=1e-5)


def test_summary_passes_gradients_back() -> None:
    data = directed_graph(12, 30)
    patcher = FastPatcher(5, directed="keep", relations=RELATIONS)
    summary = RelationSummary(data, patcher)
    # the same map as a dense matrix, column by column
    columns = summary.summarise(torch.eye(12))
    hidden = torch.randn(12, 3, generator=torch.Generator().manual_seed(1), requires_grad=True)
    weight = torch.randn(4, 12, 3, generator=torch.Generator().manual_seed(2))
    (summary.summarise(hidden) * weight).sum().backward()
    expected = torch.einsum("rvj,rvh->jh", columns, weight)
    torch.testing.assert_close(hidden.grad, expected, atol=1e-5, rtol=1e-4)


def test_each_relation_counts_in_the_estimate_of_memory() -> None:
    one, four = (
        FastPatcher(9, directed="keep", relations=names).memory(10**6, 10**7)
        for names in (("out",), RELATIONS)
    )
    # matrices of the three others, with at least eight bytes per edge
    assert four - one > 3 * 8 * 10**7


@pytest.mark.parametrize("directed", ["keep", "symmetrise"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("relations", [RELATIONS, ("cocitation", "in"), ("coreference",)])
def test_summary_without_gradients(
    relations: tuple[str, ...], weighted: bool, directed: str
) -> None:
    """A compiled loop computes it then and shares sparse products between relations."""
    data, generator = directed_graph(50, 120), torch.Generator().manual_seed(0)
    if weighted:
        data.edge_weight = torch.rand(data.edge_index.size(1), generator=generator) + 0.1
    patcher = FastPatcher(5, c=0.3, self_loops=False, directed=directed, relations=relations)
    summary, hidden = RelationSummary(data, patcher), torch.randn(50, 40, generator=generator)
    expected = summary.summarise(hidden)
    with torch.no_grad():
        torch.testing.assert_close(summary.summarise(hidden), expected, rtol=1e-4, atol=1e-5)
    assert bool((expected.abs().sum((1, 2)) > 1).all())


def test_columns_of_a_summary_do_not_depend_on_one_another() -> None:
    """Without gradients it is computed in blocks of columns, the last of which is narrower."""
    data = directed_graph(50, 120)
    summary = RelationSummary(data, FastPatcher(patch_size=4, directed="symmetrise"))
    hidden = torch.randn(50, 70, generator=torch.Generator().manual_seed(0))
    expected = summary.summarise(hidden)
    with torch.no_grad():
        torch.testing.assert_close(summary.summarise(hidden), expected)
        assert summary.summarise(hidden[:, :0]).shape == (summary.num_summaries, 50, 0)


@pytest.mark.parametrize("width", [8, 32, 40])
@pytest.mark.parametrize("nodes", [None, [3, 0, 7]])
def test_a_layer_and_its_summaries_at_once(width: int, nodes: list[int] | None) -> None:
    data, generator = directed_graph(50, 120), torch.Generator().manual_seed(0)
    data.x = (
        torch.rand(50, 12, generator=generator) * (torch.rand(50, 12, generator=generator) > 0.6)
    ).to(torch.float32)
    patcher = FastPatcher(5, self_loops=False, directed="keep", relations=RELATIONS)
    config = ModelConfig(hidden_channels=width, dropout=0.0, input_dropout=0.0)
    relations = RelationSummary(data, patcher)
    model = HeroFilter(12, 3, patcher(data), config, relations=relations).eval()
    data.x = data.x.to_sparse_csr()
    chosen = None if nodes is None else torch.tensor(nodes)
    expected = model(data, chosen)
    with torch.no_grad():
        assert model.stem is not None
        layer = model.stem.as_layer(data.x)
        assert layer is not None
        hidden, summary = relations.summarise_layer(data.x, *layer)
        torch.testing.assert_close(hidden, model.hidden(data.x))
        torch.testing.assert_close(summary, relations.summarise(hidden))
        torch.testing.assert_close(model(data, chosen), expected, rtol=1e-4, atol=1e-5)
    # with gradients the layers are called
    assert model.stem.as_layer(data.x) is None
