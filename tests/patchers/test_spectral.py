import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch_geometric.data import Data

from herofilter.data import csbm
from herofilter.errors import ConfigError
from herofilter.patchers import SpectralPatcher
from herofilter.spectral import (
    AdaptiveFilter,
    Filter,
    HeatFilter,
    PPRFilter,
    SharedFilter,
    normalised_adjacency,
)
from tests.awkward import AWKWARD


def dense_relevance(patcher: SpectralPatcher, position: int = 0) -> torch.Tensor:
    response = patcher.responses()[position]
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
    expected = SpectralPatcher(data, patch_size=6).index
    monkeypatch.setattr("herofilter.patchers.spectral.BLOCK_BYTES", 4 * 60 * 7)
    assert torch.equal(SpectralPatcher(data, patch_size=6).index, expected)


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


def directed_csbm(num_nodes: int = 40, seed: int = 0) -> Data:
    return csbm(num_nodes, num_classes=3, average_degree=6, directed=True, seed=seed)


def dense_matrix(data: Data, *, self_loops: bool = True, directed: str = "keep") -> torch.Tensor:
    weight = data.get("edge_weight")
    matrix = normalised_adjacency(
        data.edge_index, data.num_nodes, weight, self_loops=self_loops, directed=directed
    )
    return torch.from_numpy(matrix.toarray()).float()


def directed_relevance(patcher: SpectralPatcher, position: int = 0) -> torch.Tensor:
    left, right = patcher.vectors, patcher.right
    if patcher.sides[position] == "in":
        left, right = right, left
    even, odd = patcher.filters[position].parts(patcher.eigenvalues, patcher.weights[position])
    return left @ torch.diag(even) @ left.t() + left @ torch.diag(odd) @ right.t()


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("side", ["out", "in"])
@pytest.mark.parametrize("start", ["low", "hop1", "hop2", "high"])
@pytest.mark.parametrize("activation", ["tanh", "identity", "softsign"])
def test_symmetric_graphs_give_the_papers_patches(side: str, start: str, activation: str) -> None:
    for data in (csbm(num_nodes=50, seed=1), AWKWARD["isolated_nodes"](), AWKWARD["weighted"]()):
        filters = AdaptiveFilter(6, activation, start)
        paper = SpectralPatcher(data, 6, filters)
        sided = SpectralPatcher(data, 6, filters, directed="keep", sides=[side])
        # one hop has many ties, which rounding may break in one basis and not in the other
        if (activation, start) != ("identity", "hop1"):
            assert torch.equal(paper.index, sided.index)
        assert torch.equal(paper().mask, sided().mask)
        chosen = dense_relevance(paper).gather(1, sided.index.clamp(min=0)) * sided().mask
        close(chosen[:, 1:], paper().score[:, 1:])
        close(sided().score, paper().score)


@pytest.mark.parametrize("side", ["out", "in"])
@pytest.mark.parametrize("seed", range(3))
def test_learned_weights_keep_the_reduction(side: str, seed: int) -> None:
    data = csbm(num_nodes=50, seed=seed)
    paper = SpectralPatcher(data, 6, SharedFilter(7))
    sided = SpectralPatcher(data, 6, SharedFilter(7), directed="keep", sides=[side])
    drawn = torch.randn(7, generator=torch.Generator().manual_seed(seed))
    for patcher in (paper, sided):
        with torch.no_grad():
            patcher.weights[0].copy_(drawn)
        patcher.refresh()
    assert torch.equal(paper.index, sided.index)
    close(sided().score, paper().score)
    (paper().score ** 2).sum().backward()
    (sided().score ** 2).sum().backward()
    torch.testing.assert_close(sided.weights[0].grad, paper.weights[0].grad, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("side", ["out", "in"])
def test_adaptive_weights_alike_at_both_signs_keep_the_reduction(side: str) -> None:
    data = csbm(num_nodes=50, seed=4)
    paper = SpectralPatcher(data, 6, AdaptiveFilter(4))
    sided = SpectralPatcher(data, 6, AdaptiveFilter(4), directed="keep", sides=[side])
    for patcher in (paper, sided):
        modulus = patcher.eigenvalues.abs()
        rows = [modulus.cos(), -modulus, modulus.sqrt(), 1 - modulus]
        with torch.no_grad():
            patcher.weights[0].copy_(torch.stack(rows))
        patcher.refresh()
    assert torch.equal(paper.index, sided.index)
    close(sided().score, paper().score)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("graph", ["directed", "isolated_nodes", "weighted", "no_edges"])
def test_hops_are_the_matrix_and_its_products(graph: str, self_loops: bool) -> None:
    data = AWKWARD[graph]()
    matrix = dense_matrix(data, self_loops=self_loops)
    expected = {
        ("hop1", "out"): matrix,
        ("hop1", "in"): matrix.t(),
        ("hop2", "out"): matrix @ matrix.t(),
        ("hop2", "in"): matrix.t() @ matrix,
    }
    for (start, side), relevance in expected.items():
        patcher = SpectralPatcher(
            data,
            patch_size=data.num_nodes,
            filters=AdaptiveFilter(2, "identity", start),
            self_loops=self_loops,
            ego="ranked",
            directed="keep",
            sides=[side],
        )
        patches = patcher()
        dense = torch.zeros_like(relevance)
        row = torch.arange(data.num_nodes).unsqueeze(1).expand_as(patches.index)
        dense[row[patches.mask], patches.index[patches.mask]] = patches.score[patches.mask].detach()
        close(dense, 0.5 * relevance)
        assert torch.equal(dense != 0, relevance > 1e-7)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), order=st.integers(1, 9), side=st.sampled_from(["out", "in"]))
def test_directed_choice_and_scores_against_the_dense_formula(
    seed: int, order: int, side: str
) -> None:
    data = directed_csbm(30, seed)
    patcher = SpectralPatcher(
        data, 5, AdaptiveFilter(order), ego="ranked", directed="keep", sides=[side]
    )
    relevance = directed_relevance(patcher).detach()
    patches = patcher()
    close(patches.score, relevance.gather(1, patches.index.clamp(min=0)) * patches.mask)
    close(patches.score[patches.mask], relevance.topk(5, dim=1).values[patches.mask])


def test_sides_are_those_of_the_reversed_graph() -> None:
    data = directed_csbm()
    back = Data(edge_index=data.edge_index.flip(0), num_nodes=data.num_nodes)
    inward = SpectralPatcher(data, 6, directed="keep", sides=["in"])
    outward = SpectralPatcher(back, 6, directed="keep")
    assert torch.equal(inward.index, outward.index)
    close(inward().score, outward().score)
    other = SpectralPatcher(data, 6, directed="keep")
    assert other.sides == ("out",)
    assert not torch.equal(inward.index, other.index)


def test_every_side_learns() -> None:
    filters = [AdaptiveFilter(3), AdaptiveFilter(3, start="hop2"), SharedFilter(3, start="hop1")]
    patcher = SpectralPatcher(
        directed_csbm(), 10, filters, directed="keep", sides=["out", "in", "in"]
    )
    upstream = torch.randn(40, 9, generator=torch.Generator().manual_seed(0))
    (patcher().score[:, 1:] * upstream).sum().backward()
    chosen = patcher.index[:, 1:]
    for position, weight in enumerate(patcher.weights):
        part = slice(3 * position, 3 * position + 3)
        relevance = directed_relevance(patcher, position).gather(1, chosen[:, part].clamp(min=0))
        loss = (relevance * upstream[:, part] * (chosen[:, part] >= 0)).sum()
        (expected,) = torch.autograd.grad(loss, weight)
        torch.testing.assert_close(weight.grad, expected, atol=1e-4, rtol=1e-3)
        assert bool((weight.grad.reshape(3, -1).abs().sum(dim=1) > 0).all())


@pytest.mark.parametrize("graph", AWKWARD)
@pytest.mark.parametrize("selection", ["top", "signed"])
@pytest.mark.parametrize("self_loops", [True, False])
def test_directions_on_awkward_graphs(graph: str, selection: str, self_loops: bool) -> None:
    data = AWKWARD[graph]()
    patcher = SpectralPatcher(
        data,
        4,
        [AdaptiveFilter(), AdaptiveFilter(start="high")],
        self_loops=self_loops,
        directed="keep",
        sides=["out", "in"],
        selection=selection,
    )
    patches = patcher()
    relevances = [directed_relevance(patcher, position) for position in range(2)]
    for slot, relevance in zip(patches.slots[1:], relevances, strict=True):
        index = patches.index[:, slot.start : slot.stop]
        score = patches.score[:, slot.start : slot.stop]
        close(score, relevance.gather(1, index.clamp(min=0)) * (index >= 0))
        assert bool((score[index >= 0].abs() > 1e-7).all())
    matrix = dense_matrix(data, self_loops=self_loops)
    silent = ~matrix.any(dim=1)
    assert bool((patches.index[silent, 1:3] == -1).all())
    hidden = torch.ones(data.num_nodes, 2)
    assert bool(patcher.summarise(hidden).isfinite().all())


def test_no_edges_and_no_loops_leave_the_node_alone() -> None:
    patcher = SpectralPatcher(AWKWARD["no_edges"](), 3, self_loops=False, directed="keep")
    assert patcher.eigenvalues.numel() == 0
    patches = patcher()
    assert torch.equal(patches.index[:, 1:], torch.full((10, 2), -1))
    assert patches.score[:, 1:].tolist() == [[0.0, 0.0]] * 10
    assert not patcher.summarise(torch.ones(10, 2)).any()


def test_truncated_singular_values() -> None:
    data = directed_csbm(60)
    patcher = SpectralPatcher(data, 6, num_eigenpairs=20, directed="keep")
    assert patcher.eigenvalues.shape == (20,)
    assert patcher.vectors.shape == patcher.right.shape == (60, 20)
    close(
        patcher().score[:, 1:],
        directed_relevance(patcher).gather(1, patcher.index[:, 1:]),
    )


def test_directed_summary_is_the_full_response() -> None:
    filters = [AdaptiveFilter(), AdaptiveFilter(start="high")]
    patcher = SpectralPatcher(directed_csbm(), 4, filters, directed="keep", sides=["out", "in"])
    hidden = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    nodes = torch.tensor([7, 1])
    for position in range(2):
        even, odd = filters[position].parts(patcher.eigenvalues, patcher.weights[position])
        bound = (even.abs() + odd.abs()).max()
        expected = directed_relevance(patcher, position) @ hidden / bound
        close(patcher.summarise(hidden)[position], expected)
        close(patcher.summarise(hidden, nodes)[position], expected[nodes])
        assert torch.linalg.matrix_norm(directed_relevance(patcher, position), 2) <= bound + 1e-5


def test_directed_patches_are_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    data = directed_csbm(60)
    first = SpectralPatcher(data, 6, directed="keep", selection="signed")
    monkeypatch.setattr("herofilter.patchers.spectral.BLOCK_BYTES", 4 * 60 * 7)
    second = SpectralPatcher(data, 6, directed="keep", selection="signed")
    assert torch.equal(first.index, second.index)
    assert torch.equal(first().score, second().score)
    with torch.no_grad():
        second.weights[0].neg_()
    second.refresh()
    assert not torch.equal(first.index, second.index)
    second.reset_parameters()
    assert torch.equal(first.index, second.index)


@pytest.mark.parametrize("directed", ["symmetrise", "keep"])
@pytest.mark.parametrize("size", [2, 3, 6, 40])
def test_signed_selection_takes_both_ends(directed: str, size: int) -> None:
    data = directed_csbm()
    patcher = SpectralPatcher(
        data, size, AdaptiveFilter(start="high"), directed=directed, selection="signed"
    )
    keep = directed == "keep"
    relevance = (directed_relevance if keep else dense_relevance)(patcher).detach()
    relevance.fill_diagonal_(0)
    patches = patcher()
    half = 1 + size // 2
    for columns, sign in ((slice(1, half), 1), (slice(half, size), -1)):
        score = sign * patches.score[:, columns].detach()
        mask = patches.mask[:, columns]
        assert bool((score[mask] > 0).all())
        assert not score[~mask].any()
        best = (sign * relevance).topk(score.shape[1], dim=1).values
        # near zero a score may count as rounding
        close(score[mask], best[mask])
        assert bool((best[~mask] < 1e-4).all())
        assert bool((mask.long().diff(dim=1) <= 0).all())


def test_signed_selection_pads_a_sign_that_is_absent() -> None:
    # one hop has no negative scores
    star = Data(edge_index=torch.tensor([[0, 0, 0], [1, 2, 3]]), num_nodes=5)
    filters = AdaptiveFilter(1, "identity")
    patcher = SpectralPatcher(star, 5, filters, directed="keep", selection="signed")
    assert patcher.index.tolist() == [
        [0, 1, 2, -1, -1],
        [1, -1, -1, -1, -1],
        [2, -1, -1, -1, -1],
        [3, -1, -1, -1, -1],
        [4, -1, -1, -1, -1],
    ]
    with torch.no_grad():
        patcher.weights[0].neg_()
    patcher.refresh()
    assert patcher.index[0].tolist() == [0, -1, -1, 1, 2]


def test_slots_take_the_names_given() -> None:
    filters = [AdaptiveFilter(start="hop1"), AdaptiveFilter(start="hop2")]
    patcher = SpectralPatcher(
        directed_csbm(),
        6,
        filters,
        directed="keep",
        sides=["out", "in"],
        names=["out", "cocitation"],
    )
    assert [tuple(slot) for slot in patcher().slots] == [
        ("ego", 0, 1),
        ("out", 1, 4),
        ("cocitation", 4, 6),
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"directed": "kep"}, "did you mean 'keep'"),
        ({"selection": "sign"}, "did you mean 'signed'"),
        ({"directed": "keep", "sides": ["outt"]}, "did you mean 'out'"),
        ({"directed": "keep", "sides": ["out", "in"]}, r"one side per filter \(got 2 for 1\)"),
        ({"sides": ["in"]}, 'sides must be left out .*; set directed="keep"'),
        ({"names": ["ego"]}, r"its own name, other than 'ego' \(got 'ego'\)"),
        ({"names": ["a", "b"]}, r"each of the 1 filters its own name.*got 'a', 'b'"),
        ({"names": []}, "got none"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SpectralPatcher(AWKWARD["directed"](), patch_size=3, **settings)


@pytest.mark.parametrize("kind", [HeatFilter(), PPRFilter()], ids=str)
def test_directions_need_a_polynomial(kind: Filter) -> None:
    message = r"filters must be polynomial \(adaptive or shared\) to keep directions \(got "
    with pytest.raises(ConfigError, match=message + kind.name):
        SpectralPatcher(AWKWARD["directed"](), 3, kind, directed="keep")


def test_the_responses_before_training_are_known_later() -> None:
    patcher = SpectralPatcher(csbm(num_nodes=60), patch_size=4)
    _, before = patcher.curves()
    before = {name: values.detach().clone() for name, values in before.items()}
    with torch.no_grad():
        patcher.weights[0].add_(torch.randn(patcher.weights[0].shape))
    assert not torch.allclose(patcher.curves()[1]["filter-0"], before["filter-0"])
    assert torch.equal(patcher.start_curves(torch.empty(0))["filter-0"], before["filter-0"])
