import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from herofilter.data import csbm
from herofilter.errors import ConfigError
from herofilter.patchers import SpectralPatcher
from herofilter.spectral import AdaptiveFilter, PPRFilter, normalised_adjacency
from tests.awkward import AWKWARD


def dense_relevance(patcher: SpectralPatcher, number: int = 0) -> torch.Tensor:
    response = patcher.responses()[number]
    return patcher.vectors @ torch.diag(response) @ patcher.vectors.t()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), order=st.integers(1, 12), start=st.sampled_from(["low", "high"]))
def test_choice_and_scores_against_the_dense_formula(seed: int, order: int, start: str) -> None:
    data = csbm(num_nodes=30, num_classes=3, average_degree=4, seed=seed, num_splits=1)
    patcher = SpectralPatcher(
        data, patch_size=5, filters=AdaptiveFilter(order, start=start), ego="ranked"
    )
    relevance = dense_relevance(patcher).detach()
    patches = patcher()
    torch.testing.assert_close(
        patches.score.detach(),
        relevance.gather(1, patches.index.clamp(min=0)) * patches.mask,
        atol=1e-5,
        rtol=1e-4,
    )
    best = relevance.topk(5, dim=1).values
    torch.testing.assert_close(
        patches.score.detach()[patches.mask], best[patches.mask], atol=1e-5, rtol=1e-4
    )


def test_ppr_filter_gives_the_closed_form() -> None:
    data = AWKWARD["plain"]()
    patcher = SpectralPatcher(data, patch_size=10, filters=PPRFilter(c=0.5), ego="ranked")
    matrix = torch.from_numpy(normalised_adjacency(data.edge_index, 10).toarray())
    inverse = 0.5 * torch.linalg.inv(torch.eye(10, dtype=torch.float64) - 0.5 * matrix)
    patches = patcher()
    torch.testing.assert_close(
        patches.score.double(), inverse.gather(1, patches.index), atol=1e-5, rtol=1e-4
    )


def test_gradient_against_finite_differences() -> None:
    data = AWKWARD["plain"]()
    patcher = SpectralPatcher(data, patch_size=4, filters=[AdaptiveFilter(3)])
    patcher.double()
    patcher.vectors = patcher.vectors.double()
    upstream = torch.randn(10, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def loss(weight: torch.Tensor) -> torch.Tensor:
        response = patcher.filters[0].response(patcher.eigenvalues, weight)
        relevance = patcher.vectors @ torch.diag(response) @ patcher.vectors.t()
        return (relevance.gather(1, patcher.index[:, 1:]) * upstream).sum()

    weight = patcher.weights[0].detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(loss, (weight,))
    loss(weight).backward()
    from herofilter.spectral import sampled_scores

    response = patcher.filters[0].response(patcher.eigenvalues, patcher.weights[0])
    scores = sampled_scores(
        patcher.vectors, response, torch.arange(10), patcher.index[:, 1:].contiguous()
    )
    (scores * upstream).sum().backward()
    torch.testing.assert_close(patcher.weights[0].grad, weight.grad)


def test_ego_comes_first_and_once() -> None:
    patches = SpectralPatcher(csbm(num_nodes=50, seed=0), patch_size=8)()
    assert torch.equal(patches.index[:, 0], torch.arange(50))
    assert not (patches.index[:, 1:] == torch.arange(50).unsqueeze(1)).any()
    assert [slot.name for slot in patches.slots] == ["ego", "filter-0"]


def test_filters_share_the_patch_by_slots() -> None:
    filters = [AdaptiveFilter(start="low"), AdaptiveFilter(start="hop2")]
    patcher = SpectralPatcher(csbm(num_nodes=50, seed=0), patch_size=8, filters=filters)
    slots = patcher().slots
    assert [(s.name, s.stop - s.start) for s in slots] == [
        ("ego", 1),
        ("filter-0", 4),
        ("filter-1", 3),
    ]
    assert len(list(patcher.parameters())) == 2


def test_a_patch_of_the_node_alone() -> None:
    filters = [AdaptiveFilter(), AdaptiveFilter()]
    patches = SpectralPatcher(AWKWARD["plain"](), patch_size=1, filters=filters)()
    assert patches.index.tolist() == [[v] for v in range(10)]


@pytest.mark.parametrize("graph", AWKWARD)
def test_other_components_are_padding(graph: str) -> None:
    data = AWKWARD[graph]()
    patches = SpectralPatcher(data, patch_size=4)()
    matrix = normalised_adjacency(data.edge_index, data.num_nodes, data.get("edge_weight"))
    reach = torch.linalg.matrix_power(
        torch.from_numpy((matrix.toarray() > 0).astype("float64")), data.num_nodes
    )
    chosen = reach.gather(1, patches.index.clamp(min=0)) > 0
    assert chosen[patches.mask].all()
    assert torch.equal(patches.score[~patches.mask], torch.zeros(int((~patches.mask).sum())))


def test_refresh_follows_the_filter() -> None:
    patcher = SpectralPatcher(csbm(num_nodes=60, seed=3), patch_size=6)
    before = patcher.index.clone()
    with torch.no_grad():
        patcher.weights[0].neg_()
    assert torch.equal(patcher().index, before)
    patcher.refresh()
    assert not torch.equal(patcher.index, before)
    patcher.reset_parameters()
    assert torch.equal(patcher.index, before)


def test_blocks_do_not_change_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    data = csbm(num_nodes=60, seed=3)
    whole = SpectralPatcher(data, patch_size=6).index
    monkeypatch.setattr("herofilter.patchers.spectral._BLOCK_BYTES", 4 * 60 * 7)
    assert torch.equal(SpectralPatcher(data, patch_size=6).index, whole)


def test_truncated_spectrum() -> None:
    data = csbm(num_nodes=60, seed=3)
    patcher = SpectralPatcher(data, patch_size=6, num_eigenpairs=20)
    assert patcher.eigenvalues.shape == (20,)
    full = SpectralPatcher(data, patch_size=6, num_eigenpairs=60)
    assert torch.equal(full.index, SpectralPatcher(data, patch_size=6).index)


@pytest.mark.parametrize("size", [0, 11])
def test_patch_size_out_of_range(size: int) -> None:
    message = "patch_size must be between 1 and the number of nodes"
    with pytest.raises(ConfigError, match=f"{message} \\(got {size}; the graph has 10 nodes"):
        SpectralPatcher(AWKWARD["plain"](), patch_size=size)


def test_directed_graphs_are_symmetrised() -> None:
    one_way = torch.tensor([[0, 1, 2], [1, 2, 3]])
    both = torch.cat([one_way, one_way.flip(0)], dim=1)
    first = SpectralPatcher(Data(edge_index=one_way, num_nodes=4), patch_size=3)
    second = SpectralPatcher(Data(edge_index=both, num_nodes=4), patch_size=3)
    assert torch.equal(first.index, second.index)


def test_equal_scores_go_to_the_lower_node() -> None:
    star = torch.tensor([[0, 0, 0, 0], [1, 2, 3, 4]])
    patches = SpectralPatcher(Data(edge_index=star, num_nodes=6), patch_size=4)()
    assert patches.index[:5].tolist() == [
        [0, 1, 2, 3],
        [1, 0, 2, 3],
        [2, 0, 1, 3],
        [3, 0, 1, 2],
        [4, 0, 1, 2],
    ]
    assert patches.index[5].tolist() == [5, -1, -1, -1]


def test_padding_comes_last_even_with_negative_scores() -> None:
    filters = AdaptiveFilter(start="high")
    patches = SpectralPatcher(AWKWARD["disconnected"](), patch_size=8, filters=filters)()
    assert (patches.score < 0).any()
    first = patches.mask.long().diff(dim=1)
    assert not (first > 0).any()


def test_summary_is_the_full_response() -> None:
    data = csbm(num_nodes=40, seed=1)
    patcher = SpectralPatcher(data, patch_size=4)
    hidden = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    relevance = dense_relevance(patcher) / patcher.responses()[0].abs().max()
    torch.testing.assert_close(patcher.summarise(hidden)[0], relevance @ hidden)
    nodes = torch.tensor([7, 1])
    torch.testing.assert_close(patcher.summarise(hidden, nodes)[0], (relevance @ hidden)[nodes])
