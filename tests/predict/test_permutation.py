"""Importance by permutation: what a shuffled table does to the predictions, seeded."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.data.features import to_sparse
from herofilter.data.tables.column_ranges import ColumnRange
from herofilter.errors import ConfigError, GraphError
from herofilter.nn import NodeClassifier, find_model
from herofilter.predict import permutation
from herofilter.predict.permutation import column_importance, permuted
from herofilter.training import predict_logits, prepare, seeded, train

COLUMNS = (ColumnRange("useful", 0, 2), ColumnRange("noise", 2, 3), ColumnRange("more", 3, 4))


def graph(sparse: bool = False) -> Data:
    """Return a graph whose label is told by the first column alone."""
    generator = torch.Generator().manual_seed(0)
    n = 200
    y = torch.arange(n) % 2
    x = torch.randn(n, 4, generator=generator)
    x[:, :2] = torch.nn.functional.one_hot(y, 2)
    if sparse:
        x = to_sparse(x.where(x.abs() > 0.8, 0))
    edges = torch.randint(n, (2, 300), generator=generator)
    data = Data(x=x, y=y, edge_index=edges, num_nodes=n)
    part = torch.randperm(n, generator=generator) % 3
    data.train_mask, data.val_mask, data.test_mask = (part == i for i in range(3))
    return data


def trained(data: Data, name: str = "mlp") -> tuple[NodeClassifier, Data]:
    config = Config().replace(epochs=60, hidden_channels=8, feature_scaling="none", lr=0.05)
    prepared = prepare(data, config, name)
    with seeded(0):
        model = find_model(name).build(prepared, config)
    train(model, prepared, config.train)
    return model, prepared


@pytest.mark.parametrize("sparse", [False, True])
def test_the_column_that_tells_the_label_comes_first(sparse: bool) -> None:
    model, data = trained(graph(sparse))
    nodes = data.test_mask.nonzero().flatten()
    events: list[Event] = []
    found = column_importance(model, data, nodes, COLUMNS, callback=events.append)
    first = found[0]
    assert first.column == "useful"
    assert first.matters
    assert 0.35 < first.accuracy < 0.65
    assert first.accuracy_low < first.accuracy < first.accuracy_high
    assert {each.column for each in found[1:]} == {"noise", "more"}
    assert all(abs(each.accuracy) < 0.05 for each in found[1:])
    assert [(e.stage, e.done, e.total, e.name) for e in events] == [
        ("column", 1, 3, "useful"),
        ("column", 2, 3, "noise"),
        ("column", 3, 3, "more"),
    ]


@pytest.mark.parametrize("name", ["mlp", "gcn"])
def test_values_are_those_of_a_slow_loop(name: str) -> None:
    model, data = trained(graph(), name)
    nodes = data.test_mask.nonzero().flatten()
    found = column_importance(model, data, nodes, COLUMNS, 2.0, repeats=2, seed=3)
    generator = torch.Generator().manual_seed(3)

    def losses(x: Tensor) -> Tensor:
        changed = data.clone()
        changed.x = x
        logits = predict_logits(model, changed, nodes).double() / 2
        return cross_entropy(logits, data.y[nodes], reduction="none")

    for column in COLUMNS:
        rises = []
        for _ in range(2):
            order = torch.randperm(200, generator=generator)
            x = data.x.clone()
            for row in range(200):
                x[row, column.start : column.stop] = data.x[order[row], column.start : column.stop]
            rises.append(losses(x) - losses(data.x))
        rise = torch.stack(rises).mean(0)
        each = next(one for one in found if one.column == column.name)
        half = 1.96 * float(rise.std()) / nodes.numel() ** 0.5
        expected = (float(rise.mean()), float(rise.mean()) - half, float(rise.mean()) + half)
        assert (each.loss, each.loss_low, each.loss_high) == pytest.approx(expected, abs=1e-9)


def test_the_same_seed_gives_the_same_and_many_nodes_are_thinned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, data = trained(graph())
    nodes = data.test_mask.nonzero().flatten()
    once = column_importance(model, data, nodes, COLUMNS)
    assert once == column_importance(model, data, nodes, COLUMNS)
    assert once != column_importance(model, data, nodes, COLUMNS, seed=1)
    monkeypatch.setattr(permutation, "MOST_NODES", 10)
    thinned = column_importance(model, data, nodes, COLUMNS)
    assert thinned[0].column == "useful"
    # of ten nodes the accuracy of five repeats falls by fiftieths
    assert (50 * thinned[0].accuracy) == pytest.approx(round(50 * thinned[0].accuracy))


def test_sparse_and_dense_are_permuted_alike() -> None:
    data = graph(sparse=True)
    order = torch.randperm(200)
    dense = permuted(data.x.to_dense(), COLUMNS[0], order)
    assert torch.equal(permuted(data.x, COLUMNS[0], order).to_dense(), dense)
    assert not torch.equal(dense, data.x.to_dense())


def test_mistakes() -> None:
    model, data = trained(graph())
    data.y[7] = -1
    with pytest.raises(GraphError) as caught:
        column_importance(model, data, torch.tensor([6, 7]), COLUMNS)
    assert str(caught.value) == (
        "importance must be measured on labelled nodes (got some without a label); "
        "name nodes with a label"
    )
    with pytest.raises(GraphError, match=r"\(got none\)"):
        column_importance(model, data, torch.empty(0, dtype=torch.long), COLUMNS)
    with pytest.raises(ConfigError, match=r"^repeats must be at least 1 \(got 0\)$"):
        column_importance(model, data, torch.tensor([6]), COLUMNS, repeats=0)
