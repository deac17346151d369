"""The polynomial patcher against dense matrices."""

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data import csbm
from herofilter.errors import ConfigError, GraphError
from herofilter.patchers import PolynomialPatcher
from herofilter.spectral import normalised_adjacency
from tests.awkward import AWKWARD


def relevance(patcher: PolynomialPatcher) -> Tensor:
    """Return each learned filter's matrix g(Ã), dense: ``[f, n, n]``."""
    matrix = torch.from_numpy(patcher.learned.matrix.toarray())
    values, vectors = torch.linalg.eigh(matrix)
    with torch.no_grad():
        responses = [
            kind.response(values, weights.double())
            for kind, weights in zip(patcher.filters, patcher.weights, strict=True)
        ]
    return torch.stack([vectors @ torch.diag(g) @ vectors.t() for g in responses]).float()


def move(patcher: PolynomialPatcher, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        patcher.learned.values.add_(
            torch.randn(patcher.learned.values.shape, generator=generator), alpha=0.5
        )


def small_graph(seed: int = 0) -> Data:
    return csbm(num_nodes=40, num_classes=3, average_degree=4, seed=seed, num_splits=1)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000), order=st.integers(2, 12), ego=st.sampled_from(["first", "ranked"])
)
def test_choice_and_scores_against_the_dense_matrix(seed: int, order: int, ego: str) -> None:
    patcher = PolynomialPatcher(small_graph(seed), 7, ["low", "hop2"], order, ego=ego)
    move(patcher, seed)
    patcher.refresh()
    patches = patcher()
    dense = relevance(patcher)
    first = int(ego == "first")
    for number, slot in enumerate(patches.slots[first:]):
        columns = slice(slot.start, slot.stop)
        index, score = patches.index[:, columns], patches.score[:, columns].detach()
        scores = dense[number].clone()
        if first:
            scores.fill_diagonal_(-torch.inf)
        mask = index >= 0
        got = scores.gather(1, index.clamp(min=0))
        torch.testing.assert_close(score[mask], got[mask], atol=1e-4, rtol=1e-3)
        # a score that is zero up to rounding is never chosen, even before a negative one
        largest = dense[number].abs().amax(1, keepdim=True)
        best = scores.masked_fill(scores.abs() < 2e-6 * largest, -torch.inf)
        best = best.topk(index.size(1), dim=1).values
        torch.testing.assert_close(score[mask], best[mask], atol=1e-4, rtol=1e-3)


def test_choice_stays_until_it_is_refreshed_while_scores_follow() -> None:
    patcher = PolynomialPatcher(small_graph(), 6)
    before = patcher()
    move(patcher)
    moved = patcher()
    assert torch.equal(moved.index, before.index)
    assert not torch.equal(moved.score, before.score)
    patcher.refresh()
    assert not torch.equal(patcher().index, before.index)


def test_restore_repeats_the_last_choice_after_weights_were_loaded() -> None:
    patcher = PolynomialPatcher(small_graph(), 6)
    move(patcher)
    patcher.refresh()
    chosen = patcher.index.clone()
    move(patcher, seed=1)
    weights = {key: value.clone() for key, value in patcher.state_dict().items()}
    for key in ("index", "entries"):
        del weights[key]
    again = PolynomialPatcher(small_graph(), 6)
    again.load_state_dict(weights, strict=False)
    again.restore()
    assert torch.equal(again.index, chosen)
    assert torch.equal(again().score, patcher().score)


def test_reset_brings_back_the_start() -> None:
    patcher = PolynomialPatcher(small_graph(), 6)
    before = patcher()
    move(patcher)
    patcher.refresh()
    patcher.reset_parameters()
    after = patcher()
    assert torch.equal(after.index, before.index)
    assert torch.equal(after.score, before.score)


def test_scores_have_gradients_of_the_filter() -> None:
    patcher = PolynomialPatcher(small_graph(), 6)
    patcher().score.sum().backward()
    assert patcher.learned.values.grad is not None
    assert bool(patcher.learned.values.grad.abs().sum() > 0)


@pytest.mark.parametrize("name", list(AWKWARD))
def test_awkward_graphs(name: str) -> None:
    data = AWKWARD[name]()
    patcher = PolynomialPatcher(data, 4, relations=["out", "cocitation"])
    patches = patcher()
    assert torch.equal(patches.index[:, 0], torch.arange(patcher.num_nodes))
    assert bool((patches.score[~patches.mask] == 0).all())
    assert patcher.summarise(torch.ones(patcher.num_nodes, 8)).shape[0] == 3


def test_directed_relations_keep_their_own_slots() -> None:
    data = AWKWARD["directed"]()
    names = ["out", "in", "coreference", "cocitation"]
    patcher = PolynomialPatcher(data, 10, ["hop2"], relations=names)
    assert [slot.name for slot in patcher.slots] == ["ego", *names, "filter-0"]
    dense = torch.from_numpy(
        normalised_adjacency(data.edge_index, 10, self_loops=False, directed="keep").toarray()
    ).float()
    expected = {
        "out": dense,
        "in": dense.t(),
        "coreference": dense @ dense.t(),
        "cocitation": dense.t() @ dense,
    }
    fixed = patcher.index[:, 1:9].clone()
    patches = patcher()
    for slot in patches.slots[1:5]:
        scores = expected[slot.name].clone().fill_diagonal_(0)
        best = scores.topk(2, dim=1).values
        torch.testing.assert_close(patches.score[:, slot.start : slot.stop].detach(), best)
    hidden = torch.randn(10, 8, generator=torch.Generator().manual_seed(0))
    summaries = patcher.summarise(hidden)
    for number, name in enumerate(names):
        torch.testing.assert_close(summaries[number], expected[name] @ hidden)
    move(patcher)
    patcher.refresh()
    assert torch.equal(patcher.index[:, 1:9], fixed)


def test_a_filter_may_have_no_room_in_the_patch() -> None:
    patcher = PolynomialPatcher(small_graph(), 2, ["low", "hop2"])
    assert [slot.name for slot in patcher.slots] == ["ego", "filter-0"]
    assert patcher.summarise(torch.ones(40, 8)).shape == (2, 40, 8)
    only = PolynomialPatcher(small_graph(), 1)
    only.refresh()
    assert only().index.tolist() == [[node] for node in range(40)]


def test_aligned_start_takes_training_labels_alone() -> None:
    data = csbm(num_nodes=200, num_classes=2, heterophily=0.9, average_degree=8, seed=1)
    known = data.y.clone()
    known[::2] = -1
    patcher = PolynomialPatcher(data, 6, ["aligned"])
    before = patcher().homophily(data.y)
    patcher.align(known)
    assert patcher().homophily(data.y) > max(before, 0.6)
    weights = patcher.learned.values.clone()
    plain = PolynomialPatcher(data, 6, ["hop2"])
    plain.align(known)
    assert torch.equal(plain.learned.values, PolynomialPatcher(data, 6).learned.values)
    assert not torch.equal(plain.learned.values, weights)
    nobody = PolynomialPatcher(data, 6, ["aligned"])
    nobody.align(torch.full_like(known, -1))
    assert torch.equal(nobody.learned.values, plain.learned.values)


def test_patches_larger_than_the_graph_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"between 1 and the number of nodes \(got 41; the graph"):
        PolynomialPatcher(small_graph(), 41)


def test_more_relations_than_terms_of_a_low_order() -> None:
    names = ["out", "in", "coreference", "cocitation"]
    patcher = PolynomialPatcher(AWKWARD["directed"](), 10, ["low"], order=1, relations=names)
    high = PolynomialPatcher(AWKWARD["directed"](), 10, ["low"], order=5, relations=names)
    assert torch.equal(patcher().index, high().index)
    torch.testing.assert_close(patcher().score, high().score)


@pytest.mark.parametrize("relations", [(), ("out", "cocitation")])
def test_patches_of_some_nodes_are_those_among_all(relations: tuple[str, ...]) -> None:
    data = csbm(num_nodes=90, num_classes=3)
    nodes = torch.tensor([7, 80, 3])
    everyone, some = (
        PolynomialPatcher(data, 7, ("hop1", "hop2"), relations=relations, nodes=chosen)
        for chosen in (None, nodes)
    )
    for patcher in (everyone, some):
        move(patcher)
        patcher.refresh()
    wanted, found = everyone(nodes), some(nodes)
    assert torch.equal(found.index, wanted.index)
    assert torch.equal(found.score, wanted.score)
    with pytest.raises(GraphError, match="patches must be asked for nodes that they were made for"):
        some(torch.tensor([7, 8]))


@pytest.mark.parametrize("start", ["low", "hop2", "aligned"])
def test_the_responses_before_training_are_known_later(start: str) -> None:
    data = csbm(num_nodes=80, num_classes=3, heterophily=0.8)
    patcher = PolynomialPatcher(data, patch_size=6, starts=(start,))
    patcher.align(data.y)
    _, before = patcher.curves()
    before = {name: values.detach().clone() for name, values in before.items()}
    with torch.no_grad():
        patcher.learned.values.add_(torch.randn(patcher.learned.values.shape))
    _, after = patcher.curves()
    assert not torch.allclose(after["filter-0"], before["filter-0"])
    found = patcher.start_curves(data.y)
    assert torch.allclose(found["filter-0"], before["filter-0"], atol=1e-6)
