"""Effects of columns are what a slow loop gives that changes the table and predicts again."""

import copy
import math

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.data.features import to_sparse
from herofilter.data.tables.column_ranges import ColumnRange, column_ranges
from herofilter.errors import ConfigError, GraphError
from herofilter.nn import NodeClassifier, find_model
from herofilter.predict import ColumnExplainer, changed_rows as changed_rows_module
from herofilter.predict.changed_rows import (
    ChangedGraph,
    ChangedMeans,
    ChangedTokens,
    changed_rows,
    neighbours,
)
from herofilter.training import predict_logits, prepare, seeded, train
from tests.awkward import AWKWARD

SMALL = Config().replace(patch_size=6, hidden_channels=8, epochs=8)
# 32 features: wide columns, such as categories, and single ones
COLUMNS = (
    ColumnRange("country", 0, 20),
    ColumnRange("age", 20, 22),
    *(ColumnRange(f"number {i}", i, i + 1) for i in range(22, 32)),
)
KINDS = {
    "polynomial": ("herofilter", []),
    "spectral": ("herofilter", ["patcher=spectral"]),
    "fast": ("herofilter", ["patcher=fast"]),
    "local": ("herofilter", ["patcher=local", "summary=false"]),
    "label tokens": ("herofilter", ["patcher=fast", "label_tokens=true"]),
    "label shares": ("herofilter", ["label_shares=true"]),
    "no summary": ("herofilter", ["patcher=fast", "summary=false"]),
    "no stem": ("herofilter", ["patcher=fast", "stem=false"]),
    "summaries only": ("herofilter", ["patch_size=1", "num_layers=0"]),
    "ranked": ("herofilter", ["patcher=spectral", "ego=ranked"]),
    "rows": ("herofilter", ["patcher=fast", "feature_scaling=rows"]),
    "standard": ("herofilter", ["patcher=fast", "feature_scaling=standard"]),
    "mlp": ("mlp", ["feature_scaling=none"]),
    "mlp rows": ("mlp", ["feature_scaling=rows"]),
    "mlp standard": ("mlp", ["feature_scaling=standard"]),
    "gcn": ("gcn", ["feature_scaling=none"]),
    "gcn rows": ("gcn", ["feature_scaling=rows"]),
    "gcn standard": ("gcn", ["feature_scaling=standard"]),
    "nagphormer": ("nagphormer", []),
    "neighbour booster": ("neighbour-booster", ["feature_scaling=none"]),
    "neighbour booster standard": ("neighbour-booster", ["feature_scaling=standard"]),
}


def graph(directed: bool = False, sparse: bool = False) -> Data:
    data = select_split(csbm(num_nodes=60, num_classes=3, directed=directed, seed=1), 0)
    if sparse:
        data.x = to_sparse(data.x.where(data.x > 1.2, 0))
    return data


def trained(
    data: Data, name: str = "herofilter", settings: list[str] | None = None
) -> tuple[NodeClassifier, Data, Config]:
    config = SMALL.with_settings(settings or [])
    prepared = prepare(data, config, name)
    with seeded(0):
        model = find_model(name).build(prepared, config)
    train(model, prepared, config.train)
    return model, readable(data, prepared), config


def readable(data: Data, prepared: Data) -> Data:
    """Return the prepared graph with features as they were before."""
    found = copy.copy(prepared)
    found.x = data.x
    return found


def slow(model: NodeClassifier, data: Data, config: Config, name: str, x: Tensor) -> Tensor:
    """Return log-probabilities of all nodes when the table has other values."""
    changed = copy.copy(data)
    changed.x = x
    logits = predict_logits(model, prepare(changed, config, name))
    return (logits.double() / 1.5).log_softmax(1)


def replaced(data: Data, node: int, first: int, last: int) -> Tensor:
    x = data.x.to_dense().clone()
    x[node, first:last] = x[data.train_mask].double().mean(0).float()[first:last]
    return to_sparse(x) if data.x.layout == torch.sparse_csr else x


class SlowLoop:
    """The effects of changed tables on the log-probability of a class at one node."""

    def __init__(self, data: Data, kind: str, node: int) -> None:
        self.data, self.node, (self.name, settings) = data, node, KINDS[kind]
        self.model, self.readable, self.config = trained(data, self.name, settings)
        self.full = slow(self.model, data, self.config, self.name, data.x)[node]

    def effect(self, changed: int, first: int = 0, last: int = 32) -> float:
        x = replaced(self.data, changed, first, last)
        after = slow(self.model, self.data, self.config, self.name, x)[self.node]
        predicted = int(self.full.argmax())
        return float(self.full[predicted] - after[predicted])

    def effects(self, changed: int) -> dict[str, float]:
        return {each.name: self.effect(changed, each.start, each.stop) for each in COLUMNS}


@pytest.mark.parametrize("node", [3, 17])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_effects_are_those_of_a_slow_loop(
    kind: str, directed: bool, sparse: bool, node: int
) -> None:
    loop = SlowLoop(graph(directed, sparse), kind, node)
    explainer = ColumnExplainer(loop.model, loop.readable, COLUMNS, temperature=1.5)
    found = explainer.explain(node, top=2)
    assert found.predicted == int(loop.full.argmax())
    assert found.probability == pytest.approx(float(loop.full.max().exp()), abs=1e-5)
    assert found.num_columns == len(COLUMNS)
    own = {each.column: each.change for each in found.columns}
    assert own == pytest.approx(loop.effects(node), abs=2e-5)
    changes = [abs(each.change) for each in found.columns]
    assert changes == sorted(changes, reverse=True)
    assert max(changes) > 1e-4
    assert bool(found.others) == (loop.name != "mlp")
    for other in found.others:
        assert other.node != node
        assert other.change == pytest.approx(loop.effect(other.node), abs=2e-5)
        theirs = {each.column: each.change for each in other.columns}
        assert theirs == pytest.approx(loop.effects(other.node), abs=2e-5)


def test_the_strongest_of_the_candidates_are_named() -> None:
    loop = SlowLoop(graph(), "gcn", 3)
    found = ColumnExplainer(loop.model, loop.readable, COLUMNS, 1.5).explain(3, top=2)
    changes = {node: abs(loop.effect(node)) for node in neighbours(loop.readable, 3)}
    assert found.num_others == len(changes) > 2
    assert [each.node for each in found.others] == sorted(changes, key=lambda n: -changes[n])[:2]


def test_on_a_large_graph_the_most_unusual_columns_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changed_rows_module, "_FEWEST_PASSES", 8)
    monkeypatch.setattr(changed_rows_module, "_WORK", 1)
    data = graph()
    model, readable_data, _ = trained(data, "gcn")
    passes = []
    model.register_forward_hook(lambda *_: passes.append(1))
    found = ColumnExplainer(model, readable_data, COLUMNS).explain(3, top=2)
    distance = (data.x[3] - data.x[data.train_mask].mean(0)).square()
    far = {c.name: float(distance[c.start : c.stop].sum()) for c in COLUMNS}
    assert {each.column for each in found.columns} == set(sorted(far, key=far.get)[-4:])
    assert (found.num_columns, found.num_others) == (12, 2)
    assert [len(other.columns) for other in found.others] == [1, 1]
    # the graph as it is, and at most as many changes as can be computed
    assert len(passes) == 1 + 4 + 2 + 2


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_part_of_a_large_graph_gives_the_same_logits(layers: int, weighted: bool) -> None:
    # a long ring with some chords: most of it is out of reach
    start = torch.arange(200)
    ends = torch.cat([(start + 1) % 200, (start[::9] + 3) % 200])
    edges = torch.stack([torch.cat([start, start[::9]]), ends])
    generator = torch.Generator().manual_seed(0)
    data = Data(x=torch.randn(200, 4, generator=generator), edge_index=edges, y=start % 3)
    if weighted:
        data.edge_weight = torch.rand(edges.size(1), generator=generator)
    config = SMALL.with_settings([f"num_layers={layers}"])
    prepared = prepare(data, config, "gcn")
    with seeded(0):
        model = find_model("gcn").build(prepared, config).eval()
    variants = changed_rows(model, prepared, prepared, 50)
    assert isinstance(variants, ChangedGraph)
    assert int(variants.part.num_nodes) < 40
    changed = torch.tensor([50, 51, 48])
    rows = torch.randn(3, 4, generator=generator)
    found = variants.logits(changed, rows)
    for node, row, logits in zip(changed.tolist(), rows, found, strict=True):
        other = copy.copy(prepared)
        other.x = prepared.x.clone()
        other.x[node] = row
        expected = predict_logits(model, other, torch.tensor([50]))[0]
        assert logits.tolist() == pytest.approx(expected.tolist(), abs=1e-5)
        assert not torch.allclose(expected, predict_logits(model, prepared)[50], atol=1e-4)


def test_the_way_fits_the_model() -> None:
    data = graph()
    ways = {
        "herofilter": ChangedTokens,
        "gcn": ChangedGraph,
        "neighbour-booster": ChangedMeans,
    }
    for name, kind in ways.items():
        model, readable_data, _ = trained(data, name)
        assert isinstance(changed_rows(model, readable_data, readable_data, 0), kind)


def test_a_column_at_its_mean_has_no_effect() -> None:
    data = graph()
    model, readable_data, _ = trained(data, "mlp")
    readable_data.x = readable_data.x.clone()
    # the mean of the others, so that the mean with it is the same
    readable_data.train_mask[5] = False
    readable_data.x[5, :20] = readable_data.x[readable_data.train_mask].mean(0)[:20]
    found = ColumnExplainer(model, readable_data, COLUMNS).explain(5)
    assert {c.column: c.change for c in found.columns}["country"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in AWKWARD if name != "no_features"])
@pytest.mark.parametrize("model_name", ["herofilter", "gcn", "mlp", "neighbour-booster"])
def test_awkward_graphs(name: str, model_name: str) -> None:
    data = AWKWARD[name]()
    config = SMALL.replace(patch_size=4)
    prepared = prepare(data, config, model_name)
    with seeded(0):
        model = find_model(model_name).build(prepared, config)
    explainer = ColumnExplainer(model, readable(data, prepared), column_ranges(None, 4))
    found = explainer.explain(1)
    assert math.isfinite(sum(each.change for each in found.columns))
    assert len(found.columns) == 4
    assert all(other.node != 1 for other in found.others)
    if name == "no_edges":
        assert found.others == ()


def test_neighbours_by_weight_and_without_the_node_itself() -> None:
    edges = torch.tensor([[0, 1, 2, 3, 1], [1, 2, 1, 1, 1]])
    weight = torch.tensor([1.0, 2.0, 2.0, 3.0, 9.0])
    assert neighbours(Data(edge_index=edges, edge_weight=weight, num_nodes=5), 1) == [2, 3, 0]
    assert neighbours(Data(edge_index=edges, num_nodes=5), 4) == []


def test_mistakes() -> None:
    data = graph()
    model, readable_data, _ = trained(data, "mlp")
    with pytest.raises(GraphError) as caught:
        ColumnExplainer(model, readable_data, column_ranges(None, 31))
    assert str(caught.value) == (
        "columns must cover the 32 features of the graph (got 31); "
        "take them from the encoder that made the features"
    )
    with pytest.raises(GraphError) as caught:
        ColumnExplainer(model, AWKWARD["no_features"](), COLUMNS)
    assert str(caught.value) == (
        "the graph must have features to explain a prediction by columns (got none); "
        "give the table of nodes some columns"
    )
    with pytest.raises(ConfigError, match=r"^temperature must be above 0 \(got 0\)$"):
        ColumnExplainer(model, readable_data, COLUMNS, 0.0)
    explainer = ColumnExplainer(model, readable_data, COLUMNS)
    with pytest.raises(GraphError, match=r"^node must be from 0 to 59 \(got 60\)$"):
        explainer.explain(60)
    with pytest.raises(ConfigError, match=r"^top must be at least 0 \(got -1\)$"):
        explainer.explain(0, top=-1)
