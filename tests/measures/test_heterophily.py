import math
from collections.abc import Callable

import networkx as nx
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import homophily, to_networkx

from herofilter.data import csbm, symmetrise
from herofilter.errors import GraphError
from herofilter.measures import (
    adjusted_homophily,
    class_adjusted_heterophily,
    compatibility,
    edge_heterophily,
    label_informativeness,
    node_heterophily,
    node_heterophily_vector,
    spectral_heterophily,
)
from herofilter.spectral import eigen_decompose, normalised_adjacency
from tests.awkward import AWKWARD, no_edges, one_class, plain, weighted

MEASURES: list[Callable[[Data], float]] = [
    node_heterophily,
    edge_heterophily,
    class_adjusted_heterophily,
    adjusted_homophily,
    label_informativeness,
]


@st.composite
def graphs(draw: st.DrawFn, lowest_label: int = -1) -> Data:
    """Small graphs with all that edges and labels may do."""
    n = draw(st.integers(1, 8))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=24))
    labels = draw(st.lists(st.integers(lowest_label, 2), min_size=n, max_size=n))
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()
    return Data(edge_index=edge_index, y=torch.tensor(labels), num_nodes=n)


def neighbour_sets(data: Data) -> list[set[int]]:
    y = data.y.tolist()
    found: list[set[int]] = [set() for _ in y]
    for i, j in data.edge_index.t().tolist():
        if i != j and y[i] >= 0 and y[j] >= 0:
            found[i].add(j)
            found[j].add(i)
    return found


def pair_counts(data: Data) -> dict[tuple[int, int], int]:
    y, counts = data.y.tolist(), {}
    for i, neighbours in enumerate(neighbour_sets(data)):
        for j in neighbours:
            counts[y[i], y[j]] = counts.get((y[i], y[j]), 0) + 1
    return counts


def agree(first: float, second: float) -> bool:
    return math.isclose(first, second, abs_tol=1e-6) or (math.isnan(first) and math.isnan(second))


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_node_heterophily_equals_a_slow_loop(data: Data) -> None:
    y = data.y.tolist()
    h = [
        sum(y[i] != y[j] for j in neighbours) / len(neighbours) if neighbours else 0.0
        for i, neighbours in enumerate(neighbour_sets(data))
    ]
    labelled = [value for value, label in zip(h, y, strict=True) if label >= 0]
    assert node_heterophily_vector(data).tolist() == pytest.approx(h)
    assert agree(node_heterophily(data), sum(labelled) / len(labelled) if labelled else 0.0)


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_edge_heterophily_equals_a_slow_loop(data: Data) -> None:
    y = data.y.tolist()
    ends = [(y[i], y[j]) for i, j in data.edge_index.t().tolist() if min(y[i], y[j]) >= 0]
    expected = sum(a != b for a, b in ends) / len(ends) if ends else math.nan
    assert agree(edge_heterophily(data), expected)


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_class_adjusted_heterophily_equals_a_slow_loop(data: Data) -> None:
    y, counts = data.y.tolist(), pair_counts(data)
    num_classes, labelled = max(y) + 1, sum(label >= 0 for label in y)
    expected = math.nan
    if num_classes >= 2 and counts:
        total = 0.0
        for k in range(num_classes):
            ends = sum(count for (c, _), count in counts.items() if c == k)
            alike = counts.get((k, k), 0) / ends if ends else 0.0
            total += max(0.0, alike - y.count(k) / labelled)
        expected = 1 - total / (num_classes - 1)
    assert agree(class_adjusted_heterophily(data), expected)


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_adjusted_homophily_and_informativeness_equal_slow_loops(data: Data) -> None:
    counts = pair_counts(data)
    total = sum(counts.values())
    classes = {c for c, _ in counts}
    if len(classes) < 2:
        assert math.isnan(adjusted_homophily(data))
        assert math.isnan(label_informativeness(data))
        return
    joint = {pair: count / total for pair, count in counts.items()}
    p = {k: sum(v for (c, _), v in joint.items() if c == k) for k in classes}
    h_edge = sum(v for (c, d), v in joint.items() if c == d)
    chance = sum(v * v for v in p.values())
    assert agree(adjusted_homophily(data), (h_edge - chance) / (1 - chance))
    information = sum(v * math.log(v / (p[c] * p[d])) for (c, d), v in joint.items())
    entropy = -sum(v * math.log(v) for v in p.values())
    assert agree(label_informativeness(data), information / entropy)


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_compatibility_equals_a_slow_loop(data: Data) -> None:
    counts, num_classes = pair_counts(data), max(max(data.y.tolist()) + 1, 0)
    result = compatibility(data)
    assert result.shape == (num_classes, num_classes)
    for c in range(num_classes):
        ends = sum(counts.get((c, d), 0) for d in range(num_classes))
        expected = [counts.get((c, d), 0) / max(ends, 1) for d in range(num_classes)]
        assert result[c].tolist() == pytest.approx(expected)


@given(graphs(lowest_label=0))
@settings(max_examples=100, deadline=None)
def test_pyg_agrees_where_its_definition_does(data: Data) -> None:
    if data.num_edges:
        assert agree(edge_heterophily(data), 1 - homophily(data.edge_index, data.y, method="edge"))
    simple = symmetrise(data).edge_index
    simple = simple[:, simple[0] != simple[1]]
    # PyG looks at incoming edges as listed, so it needs the simple graph, and it takes isolated
    # nodes for wholly heterophilic ones
    isolated = 1 - simple.unique().numel() / data.num_nodes
    theirs = 1 - homophily(simple, data.y, method="node")
    assert agree(node_heterophily(data), theirs - isolated)
    if int(data.y.max()) > 0 and simple.numel():
        insensitive = homophily(simple, data.y, method="edge_insensitive")
        assert agree(class_adjusted_heterophily(data), 1 - insensitive)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", AWKWARD)
def test_measures_are_finite_or_documented_as_nan(
    name: str, measure: Callable[[Data], float]
) -> None:
    value = measure(AWKWARD[name]())
    if name == "no_edges":
        assert value == 0.0 if measure is node_heterophily else math.isnan(value)
    else:
        assert -1.0 <= value <= 1.0


def test_one_class_leaves_only_the_plain_measures_defined() -> None:
    data = one_class()
    assert node_heterophily(data) == edge_heterophily(data) == 0.0
    for measure in (class_adjusted_heterophily, adjusted_homophily, label_informativeness):
        assert math.isnan(measure(data))


def test_no_label_at_all_is_legal() -> None:
    data = plain()
    data.y = torch.full((10,), -1)
    assert node_heterophily(data) == 0.0
    assert math.isnan(edge_heterophily(data))
    assert compatibility(data).shape == (0, 0)


def test_weights_do_not_matter() -> None:
    for measure in MEASURES:
        assert measure(weighted()) == measure(plain())


@pytest.mark.parametrize("heterophily", [0.1, 0.9])
def test_a_synthetic_graph_has_the_heterophily_it_was_made_with(heterophily: float) -> None:
    data = csbm(num_nodes=600, heterophily=heterophily)
    assert node_heterophily(data) == pytest.approx(heterophily, abs=0.05)


@pytest.mark.parametrize("heterophily", [0.2, 0.8])
def test_adjusted_homophily_is_the_assortativity_coefficient(heterophily: float) -> None:
    data = csbm(num_nodes=300, heterophily=heterophily)
    graph = to_networkx(data, node_attrs=["y"], to_undirected=True, remove_self_loops=True)
    expected = nx.attribute_assortativity_coefficient(graph, "y")
    assert adjusted_homophily(data) == pytest.approx(expected)


def test_informativeness_tells_a_pattern_from_noise() -> None:
    ring = torch.tensor([range(12), [*range(1, 12), 0]])
    pattern = Data(edge_index=ring, y=torch.arange(12) % 2, num_nodes=12)
    noise = Data(edge_index=ring, y=torch.arange(12) // 2 % 2, num_nodes=12)
    assert adjusted_homophily(pattern) == pytest.approx(-1.0)
    assert label_informativeness(pattern) == pytest.approx(1.0)
    assert adjusted_homophily(noise) == pytest.approx(0.0)
    assert label_informativeness(noise) == pytest.approx(0.0)


def test_spectral_heterophily_keeps_the_norm_and_can_be_undone() -> None:
    data = csbm(num_nodes=80)
    h = node_heterophily_vector(data)
    vectors = eigen_decompose(normalised_adjacency(data.edge_index, 80)).vectors
    spectral = spectral_heterophily(h, vectors)
    assert float(spectral.norm()) == pytest.approx(float(h.norm()), rel=1e-4)
    torch.testing.assert_close(vectors @ spectral, h, atol=1e-4, rtol=1e-4)


def test_spectral_heterophily_names_shapes_that_do_not_fit() -> None:
    with pytest.raises(GraphError) as caught:
        spectral_heterophily(torch.zeros(3), torch.eye(4))
    assert str(caught.value) == (
        "h must have one entry per row of vectors "
        "(got shapes [3] and [4, 4]); take both from one graph"
    )


@pytest.mark.parametrize(
    ("y", "got"),
    [(None, "None"), (torch.zeros(10, 2), "torch.float32 of shape [10, 2]")],
)
def test_labels_of_another_kind_are_refused(y: torch.Tensor | None, got: str) -> None:
    data = no_edges()
    data.y = y
    with pytest.raises(GraphError) as caught:
        node_heterophily(data)
    assert str(caught.value) == (
        f"y must hold one class index per node (got {got}); mark unlabelled nodes with -1"
    )
