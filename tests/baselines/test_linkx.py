"""LINKX against PyG's class, and what a mini-batch costs."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import LINKX as PyGLINKX

from herofilter.baselines.linkx import LINKX, adjacency_rows
from herofilter.data import csbm, select_split
from herofilter.errors import GraphError
from herofilter.nn.sparse import sparse_product
from herofilter.settings import TrainConfig
from herofilter.training import seeded, train
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, build


def pyg_of(model: LINKX, num_layers: int) -> PyGLINKX:
    """Return PyG's own model with the same weights."""
    other = PyGLINKX(10, 4, 8, 3, num_layers)
    state = dict(model.net.state_dict())
    state["node_mlp.lins.0.weight"] = state.pop("node_mlp.weight").t()
    state["node_mlp.lins.0.bias"] = state.pop("node_mlp.bias")
    other.load_state_dict(state)
    return other


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("num_layers", [2, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_class_of_pyg(name: str, num_layers: int, training: bool) -> None:
    model, data = build(
        "linkx", AWKWARD[name](), num_layers=num_layers, dropout=0.0, input_dropout=0.0
    )
    expected = pyg_of(model, num_layers).train(training)
    found = model.train(training)
    outs = found(data), expected(data.x, data.edge_index, data.get("edge_weight"))
    torch.testing.assert_close(*outs)
    upstream = torch.randn(10, 3, generator=torch.Generator().manual_seed(3))
    for out in outs:
        (out * upstream).sum().backward()
    own = {key: weight.grad for key, weight in found.net.named_parameters()}
    own["node_mlp.lins.0.weight"] = own.pop("node_mlp.weight").t()
    own["node_mlp.lins.0.bias"] = own.pop("node_mlp.bias")
    theirs = {key: weight.grad for key, weight in expected.named_parameters()}
    assert own.keys() == theirs.keys()
    for key, gradient in own.items():
        torch.testing.assert_close(gradient, theirs[key], rtol=1e-4, atol=1e-5)
    # running statistics too
    torch.testing.assert_close(dict(found.net.named_buffers()), dict(expected.named_buffers()))


def test_the_rows_are_the_edges_as_they_are() -> None:
    weight = torch.tensor([1.0, 2.0, 4.0, 8.0])
    edges = torch.tensor([[0, 1, 1, 2], [1, 2, 2, 2]])
    rows = adjacency_rows(Data(edge_index=edges, edge_weight=weight, num_nodes=3))
    assert rows.to_dense().tolist() == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 6.0, 8.0]]


def test_a_batch_reads_only_its_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = build("linkx", AWKWARD["plain"]())
    shapes = []

    def product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        shapes.append((tuple(x.shape), x.values().numel()))
        return sparse_product(x, weight)

    monkeypatch.setattr("herofilter.baselines.linkx.sparse_product", product)
    nodes = torch.tensor([4, 1])
    degree = torch.bincount(data.edge_index[1], minlength=10)
    model(data, nodes)
    assert shapes == [((2, 10), int(degree[nodes].sum()))]


def test_dropout_reaches_rows_and_features() -> None:
    _, data = build("linkx", AWKWARD["plain"]())
    torch.manual_seed(0)
    for layer in ("edge_lin", "node_mlp"):
        model = LINKX(10, 4, 8, 3, dropout=0.0, input_dropout=0.5).train()
        other = {"edge_lin": model.net.node_mlp, "node_mlp": model.net.edge_lin}[layer]
        torch.nn.init.zeros_(other.weight)
        assert not torch.allclose(model(data), model(data))


def test_a_last_batch_of_one_node_trains() -> None:
    data = select_split(csbm(num_nodes=60, num_classes=3, seed=1), 0)
    count = int(data.train_mask.sum())
    with seeded(0):
        model = LINKX(60, 32, 8, 3)
    result = train(model, data, TrainConfig(epochs=2, batch_size=count - 1))
    assert len(result.history) == 2


def test_another_graph_is_refused() -> None:
    model, _ = build("linkx", AWKWARD["plain"]())
    message = (
        r"^the graph must be the one the model was built for, with 10 nodes, since it learned a "
        r"vector for each \(got 5\); train anew$"
    )
    with pytest.raises(GraphError, match=message):
        model(AWKWARD["tiny"]())
