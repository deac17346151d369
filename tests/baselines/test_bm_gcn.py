"""BM-GCN: the block matrix against a slow loop, its weights on dense matrices, its labels."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.bm_gcn import BMGCN, block_matrix
from herofilter.data import csbm, select_split
from herofilter.errors import GraphError
from herofilter.settings import TrainConfig
from herofilter.training import prepare_features, seeded, train
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build


def dense(data: Data) -> Tensor:
    """Return the adjacency without self-loops, edge by edge."""
    n, weights = int(data.num_nodes or 0), data.get("edge_weight")
    matrix = torch.zeros(n, n)
    for number, (source, target) in enumerate(data.edge_index.t().tolist()):
        if source != target:
            matrix[target, source] += 1.0 if weights is None else float(weights[number])
    return matrix


def slow_block_matrix(data: Data, labels: Tensor) -> Tensor:
    """Return for classes a and b the share of b among the neighbours of a, pair by pair."""
    n, classes = labels.shape
    adjacency = dense(data)
    links, all_links = torch.zeros(classes, classes), torch.zeros(classes)
    for v in range(n):
        for u in range(n):
            for a in range(classes):
                all_links[a] += labels[v, a] * adjacency[v, u]
                for b in range(classes):
                    links[a, b] += labels[v, a] * adjacency[v, u] * labels[u, b]
    return links / all_links.clamp(min=1e-9).unsqueeze(1)


@pytest.mark.parametrize("name", GRAPHS)
def test_block_matrix_equals_a_slow_loop(name: str) -> None:
    data = AWKWARD[name]()
    labels = torch.rand(10, 3, generator=torch.Generator().manual_seed(2))
    labels = labels / labels.sum(1, keepdim=True)
    found = block_matrix(propagation(data, "none", loops=False), labels)
    torch.testing.assert_close(found, slow_block_matrix(data, labels))


def test_block_matrix_of_a_ring_of_three_classes() -> None:
    ring = torch.arange(9)
    edges = torch.stack([ring, (ring + 1) % 9])
    data = Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=9)
    found = block_matrix(propagation(data, "none", loops=False), one_hot(ring % 3).float())
    assert found.tolist() == [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]


def by_formula(model: BMGCN, data: Data) -> Tensor:
    """Return the logits from n × n matrices."""
    first, second = model.mlp
    soft = second(first(data.x).relu()).softmax(1)
    labels = soft
    if model.known is not None:
        known = model.known >= 0
        labels = torch.where(known.unsqueeze(1), one_hot(model.known.clamp(min=0), 3), soft)
    adjacency = dense(data)
    links = labels.t() @ adjacency @ labels
    block = links / (labels.t() @ adjacency @ torch.ones(10, 3)).clamp(min=1e-9)
    similarity = block @ block.t()
    similarity = similarity * torch.where(torch.eye(3) == 1, model.enhance, 1.0)
    similarity = similarity / similarity.sum(1, keepdim=True).clamp(min=1e-9)
    looped = adjacency + model.beta * torch.eye(10)
    score = looped * (soft @ similarity @ soft.t())
    weight = score.masked_fill(looped == 0, -1e9).softmax(1) * (looped != 0)
    x = data.x
    for number, layer in enumerate(model.layers):
        neighbours, ego = layer(x if number == 0 else x.relu()).chunk(2, dim=1)
        x = weight @ neighbours + ego
    return x


@pytest.mark.parametrize("beta", [0.0, 0.7])
@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "no_edges"])
def test_equals_the_formula_on_dense_matrices(name: str, beta: float) -> None:
    model, data = build("bm-gcn", AWKWARD[name](), alpha=beta, num_layers=3)
    model.enhance = 2.5
    assert_same(model(data), by_formula(model, data), model)
    before = model(data)
    model.show_labels(data.y.masked_fill(~data.train_mask, -1))
    assert_same(model(data), by_formula(model, data), model)
    assert not torch.allclose(model(data), before)


def test_only_labels_that_are_shown_count() -> None:
    data = AWKWARD["plain"]()
    model, data = build("bm-gcn", data)
    shown = data.y.masked_fill(~data.train_mask, -1)
    model.show_labels(shown)
    before = model(data)
    data.y = torch.zeros_like(data.y)
    assert torch.equal(model(data), before)
    soft = torch.full((10, 3), 1 / 3)
    labels = model.labels(soft)
    assert torch.equal(labels[data.train_mask], one_hot(shown[data.train_mask], 3).float())
    assert torch.equal(labels[~data.train_mask], soft[~data.train_mask])


def test_labels_of_other_nodes_do_not_affect_training() -> None:
    data = select_split(csbm(num_nodes=60, num_classes=3, seed=4), 0)
    other = data.clone()
    other.y[data.test_mask] = (data.y[data.test_mask] + 1) % 3
    states = []
    for graph in (data, other):
        with seeded(0):
            model = BMGCN(32, 8, 3)
        train(model, graph, TrainConfig(epochs=8))
        states.append(model.state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_the_loss_of_the_mlp_is_that_of_the_nodes_shown() -> None:
    model, data = build("bm-gcn", AWKWARD["plain"](), dropout=0.0, input_dropout=0.0)
    first, second = model.mlp
    assert model(data) is not None
    assert model.auxiliary_loss() is None
    model.train()
    model(data)
    assert model.auxiliary_loss() is None
    model.show_labels(data.y.masked_fill(~data.train_mask, -1))
    model.loss_weight = 0.3
    model(data)
    logits = second(first(data.x).relu())
    expected = 0.3 * cross_entropy(logits[data.train_mask], data.y[data.train_mask])
    torch.testing.assert_close(model.auxiliary_loss(), expected)
    assert model.auxiliary_loss() is None
    model.show_labels(torch.full((10,), -1))
    model(data)
    assert model.auxiliary_loss() is None


def test_training_teaches_the_mlp() -> None:
    data = prepare_features(select_split(csbm(num_nodes=90, num_classes=3, seed=5), 0))
    accuracy = []
    for weight in (0.0, 1.0):
        with seeded(0):
            model = BMGCN(32, 8, 3, loss_weight=weight)
        # without the MLP's own loss its logits hardly matter to the output
        train(model, data, TrainConfig(epochs=60, patience=60))
        first, second = model.mlp
        right = second(first(data.x).relu()).argmax(1) == data.y
        accuracy.append(float(right[data.train_mask].float().mean()))
    assert accuracy[0] + 0.2 < accuracy[1] > 0.9


def test_labels_of_another_graph_are_refused() -> None:
    model, data = build("bm-gcn", AWKWARD["plain"]())
    model.show_labels(torch.zeros(7, dtype=torch.long))
    message = (
        r"^the labels shown must be those of the graph's 10 nodes \(got 7\); "
        r"call show_labels with -1 where there is none$"
    )
    with pytest.raises(GraphError, match=message):
        model(data)


def test_labels_are_no_part_of_the_weights() -> None:
    model, data = build("bm-gcn", AWKWARD["plain"]())
    names = set(model.state_dict())
    model.show_labels(data.y)
    assert set(model.state_dict()) == names == set(dict(model.named_parameters()))


def test_the_option_reaches_the_model() -> None:
    data = AWKWARD["plain"]()
    assert build("bm-gcn", data)[0].beta == 0.0
    assert build("bm-gcn", data, alpha=0.5)[0].beta == 0.5
