"""H2GCN against rounds computed node by node, and its memory check."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import Propagation
from herofilter.baselines.two_hop_adjacency import two_hop_adjacency
from herofilter.data import csbm
from herofilter.errors import OutOfMemoryError
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build


def neighbourhoods(data: Data) -> tuple[list[dict[int, float]], list[dict[int, float]]]:
    """Return for each node its neighbours with their weights, and the nodes at distance two."""
    weights = data.get("edge_weight")
    first: list[dict[int, float]] = [{} for _ in range(int(data.num_nodes or 0))]
    for number, (source, target) in enumerate(data.edge_index.t().tolist()):
        if source != target:
            weight = 1.0 if weights is None else float(weights[number])
            first[target][source] = first[target].get(source, 0.0) + weight
    second = [
        {far: 1.0 for near in own for far in first[near] if far != node and far not in own}
        for node, own in enumerate(first)
    ]
    return first, second


def gather(hood: list[dict[int, float]], hidden: Tensor) -> Tensor:
    degree = [sum(own.values()) for own in hood]
    rows = []
    for node, own in enumerate(hood):
        row = torch.zeros(hidden.size(1))
        for other, weight in own.items():
            row = row + weight / (degree[node] * degree[other]) ** 0.5 * hidden[other]
        rows.append(row)
    return torch.stack(rows)


@pytest.fixture(params=[0.0, 2.0], ids=["dense", "sparse"])
def either_form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herofilter.baselines.two_hop_adjacency._DENSE_FROM", request.param)


@pytest.mark.usefixtures("either_form")
@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize("name", GRAPHS)
def test_equals_rounds_by_hand(name: str, hops: int) -> None:
    model, data = build("h2gcn", AWKWARD[name](), hops=hops)
    first, second = neighbourhoods(data)
    rounds = [model.stem(data.x)]
    for _ in range(hops):
        rounds.append(torch.cat([gather(hood, rounds[-1]) for hood in (first, second)], dim=1))
    assert [part.size(1) for part in rounds] == [8, 16, 32][: hops + 1]
    assert_same(model(data), model.classifier(torch.cat(rounds, dim=1)), model)


def matrix_of(far: Callable[[Tensor], Tensor], n: int) -> Tensor:
    return far(torch.eye(n))


@pytest.mark.usefixtures("either_form")
def test_two_hops_of_a_larger_graph_are_strict() -> None:
    data = csbm(num_nodes=80, num_classes=3, average_degree=5, seed=3)
    near = torch.zeros(80, 80, dtype=torch.long)
    near[data.edge_index[1], data.edge_index[0]] = 1
    expected = (near @ near > 0) & (near == 0) & ~torch.eye(80, dtype=torch.bool)
    far = two_hop_adjacency(data)
    found = matrix_of(far, 80)
    if isinstance(far, Propagation):
        assert torch.equal(far.matrix.col_indices(), expected.nonzero()[:, 1])
    assert torch.equal(found > 0, expected)
    scale = expected.sum(1).clamp(min=1).float().rsqrt()
    torch.testing.assert_close(found, scale.unsqueeze(1) * expected * scale)


def test_without_two_hops_only_the_first_counts() -> None:
    assert not matrix_of(two_hop_adjacency(AWKWARD["complete"]()), 8).any()


def test_dense_only_where_pairs_are_many() -> None:
    # in a star all leaves are two steps apart; on a long path each node has two such nodes
    star = torch.stack([torch.zeros(29, dtype=torch.long), torch.arange(1, 30)])
    path = torch.stack([torch.arange(29), torch.arange(1, 30)])
    forms = [
        two_hop_adjacency(Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=30))
        for edges in (star, path)
    ]
    assert [hasattr(form, "matrix") for form in forms] == [False, True]
    assert forms[1].matrix.values().numel() == 2 * 28


def test_pairs_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = build("h2gcn", csbm(num_nodes=200, average_degree=3, seed=0))
    monkeypatch.setattr("herofilter.memory.free_memory", lambda: 2000)
    pairs = sum(len(own) for own in neighbourhoods(data)[1])
    with pytest.raises(
        OutOfMemoryError,
        match=rf"^the two-hop matrix of 200 nodes \({pairs} pairs\) needs "
        r"\d+ KiB \(2 KiB are free\); choose a model that scales \(herofilter list --models\)$",
    ):
        model(data)


def test_the_option_reaches_the_model() -> None:
    assert build("h2gcn", AWKWARD["plain"]())[0].hops == 2
    assert build("h2gcn", AWKWARD["plain"](), hops=3)[0].hops == 3
