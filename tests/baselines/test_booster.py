"""Boosters: their tables, blindness to a node's own label, and what is saved of them."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter import Predictor
from herofilter.baselines import Booster, NeighbourBooster, booster, neighbour_booster
from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.errors import GraphError
from herofilter.files import DamagedFileError, load_tensors, save_tensors
from herofilter.nn import find_model
from herofilter.training import prepare, train
from herofilter.training.fit_model import fit_model, with_validation
from tests.awkward import AWKWARD

NAMES = ["booster", "neighbour-booster"]
QUICK = Config().replace(epochs=8)


def build(name: str, data: Data, directed: str = "keep") -> tuple[Booster, Data]:
    config = QUICK.replace(directed=directed)
    data = prepare(data, config, name)
    model = find_model(name).build(data, config)
    assert isinstance(model, Booster)
    return model, data


@pytest.mark.parametrize("graph", AWKWARD)
@pytest.mark.parametrize("directed", ["keep", "symmetrise"])
def test_no_node_sees_its_own_label(graph: str, directed: str) -> None:
    model, data = build("neighbour-booster", AWKWARD[graph](), directed)
    n = int(data.num_nodes)
    c = int(data.y.max()) + 1
    labels = torch.arange(n) % c
    others = []
    for node in range(n):
        seen = []
        for label in range(-1, c):
            changed = labels.clone()
            changed[node] = label
            model.show_labels(changed)
            seen.append(model.table(data))
        for other in seen[1:]:
            assert other[node].tobytes() == seen[0][node].tobytes()
        others.append(any(not np.array_equal(other, seen[0]) for other in seen[1:]))
    # the test could fail: other nodes do see it
    assert any(others) == bool(data.edge_index.numel())


@pytest.mark.parametrize("graph", AWKWARD)
@pytest.mark.parametrize("directed", ["keep", "symmetrise"])
@pytest.mark.parametrize("name", NAMES)
def test_some_rows_are_those_of_the_table(name: str, directed: str, graph: str) -> None:
    model, data = build(name, AWKWARD[graph](), directed)
    model.show_labels(data.y)
    nodes = torch.tensor([3, 0, 1])
    assert model.table(data, nodes).tobytes() == model.table(data)[nodes.numpy()].tobytes()


@pytest.mark.parametrize("graph", AWKWARD)
@pytest.mark.parametrize("name", NAMES)
def test_tables_have_no_gaps_and_name_their_columns(name: str, graph: str) -> None:
    model, data = build(name, AWKWARD[graph]())
    model.show_labels(data.y)
    table = model.table(data)
    names = model.column_names([f"c{number}" for number in range(data.num_features)])
    assert table.shape == (data.num_nodes, model.width)
    assert len(set(names)) == len(names) == model.width
    assert np.isfinite(table).all()
    nodes = torch.tensor([3, 0, 3])
    np.testing.assert_array_equal(model.table(data, nodes), table[nodes.numpy()])


def test_the_table_of_a_small_graph() -> None:
    # 0 — 1 — 2, and 3 alone
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = Data(x=torch.tensor([[1.0], [2.0], [5.0], [7.0]]), edge_index=edges, num_nodes=4)
    data.y = torch.tensor([0, 1, 1, 0])
    model = find_model("neighbour-booster").build(data, QUICK)
    model.show_labels(torch.tensor([0, 1, 1, -1]))
    found = dict(zip(model.column_names(["a"]), model.table(data).T, strict=True))
    assert found["a"].tolist() == [1, 2, 5, 7]
    assert found["a, mean of neighbours"].tolist() == [2, 3, 2, 0]
    assert found["a, mean of neighbours' neighbours"].tolist() == [3, 2, 3, 0]
    degree = found["number of neighbours (logarithm)"]
    np.testing.assert_allclose(degree, np.log1p([1, 2, 1, 0]), rtol=1e-6)
    assert found["share of class 1 among known neighbours"].tolist() == [1, 0.5, 1, 0]
    assert found["number of known neighbours"].tolist() == [1, 2, 1, 0]
    # two steps away of 0 is 2, whose label is 1, and not 0 itself
    assert found["share of class 1 among known nodes two steps away (cocitation)"][0] == 1
    assert found["share of class 0 among known nodes two steps away (cocitation)"][2] == 1


def test_directions_are_told_apart() -> None:
    data = Data(
        x=torch.tensor([[1.0], [2.0], [5.0]]),
        edge_index=torch.tensor([[0, 0], [1, 2]]),
        y=torch.tensor([0, 1, 1]),
        num_nodes=3,
    )
    model = find_model("neighbour-booster").build(data, QUICK)
    model.show_labels(data.y)
    found = dict(zip(model.column_names(["a"]), model.table(data).T, strict=True))
    assert found["a, mean of out-neighbours"].tolist() == [3.5, 0, 0]
    assert found["a, mean of in-neighbours"].tolist() == [0, 1, 1]
    assert found["number of known out-neighbours"].tolist() == [2, 0, 0]
    assert found["share of class 0 among known in-neighbours"].tolist() == [0, 1, 1]
    joined = find_model("neighbour-booster").build(data, QUICK.replace(directed="symmetrise"))
    assert joined.width < model.width


@pytest.mark.parametrize("name", NAMES)
def test_sparse_and_wide_features(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (booster, neighbour_booster):
        monkeypatch.setattr(module, "MOST_COLUMNS", 6)
    data = select_split(csbm(200, 3, num_features=100, feature_signal=3, seed=1), 0)
    data.x = data.x * (data.x > 1.5)
    logits, chosen = [], []
    for sparse in (True, False):
        form = data.clone()
        form.x = data.x.to_sparse_csr() if sparse else data.x
        config = QUICK.replace(feature_scaling="none")
        model = find_model(name).build(form, config)
        train(model, form, config.train)
        logits.append(model(form))
        chosen.append(model.own)
    assert torch.equal(*logits)
    assert torch.equal(*chosen)
    assert chosen[0].numel() == 6
    assert model.width < 40
    # other labels of test nodes choose the same columns, other training labels don't
    for part, same in (("test", True), ("train", False)):
        other = data.clone()
        mask = data[f"{part}_mask"]
        other.y[mask] = (other.y[mask] * 2 + torch.arange(int(mask.sum()))) % 3
        model.choose(other, other.train_mask.nonzero().view(-1))
        assert torch.equal(model.own, chosen[0]) == same


@pytest.mark.parametrize("name", NAMES)
def test_a_model_folder_keeps_every_bit(name: str, tmp_path: Path) -> None:
    data = with_validation(csbm(150, 3, directed=True, seed=2), 0.3)
    fitted = fit_model(data, ("a", "b", "c"), name, QUICK)
    fitted.save(tmp_path / "model")
    again = Predictor.load(tmp_path / "model")
    assert torch.equal(again.predict_proba(), fitted.predict_proba())
    assert int(again.saved.state["trees.roots"].numel()) > 0
    # on a graph of other directions, and without labels
    other = csbm(60, 3, seed=4)
    del other.y
    found = again.on(other).predict_proba()
    assert torch.isfinite(found).all()
    assert found.shape == (60, 3)


def test_a_damaged_or_hostile_file_is_refused(tmp_path: Path) -> None:
    data = with_validation(csbm(100, 3, seed=2), 0.3)
    saved = fit_model(data, ("a", "b", "c"), "neighbour-booster", QUICK).saved
    path = tmp_path / "weights.safetensors"
    save_tensors(path, saved.state)
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DamagedFileError, match="must match the checksum"):
        load_tensors(path)
    # with a checksum that fits, but with trees that run in a circle
    saved.state["trees.left"].zero_()
    with pytest.raises(DamagedFileError, match="got some that lead nowhere"):
        Predictor(saved).predict_proba()


def test_columns_that_do_not_exist_are_refused() -> None:
    data = with_validation(csbm(100, 3, seed=2), 0.3)
    saved = fit_model(data, ("a", "b", "c"), "booster", QUICK).saved
    saved.state["own"] = saved.state["own"] + 10**6
    with pytest.raises(DamagedFileError, match="the columns of a booster must be those of"):
        Predictor(saved).predict_proba()


def test_another_graph_is_refused() -> None:
    model, _ = build("neighbour-booster", AWKWARD["plain"]())
    with pytest.raises(GraphError, match="with 10 nodes \\(got 5\\); build the model for it"):
        model(AWKWARD["tiny"]())


@pytest.mark.parametrize("name", NAMES)
def test_reset_removes_the_trees(name: str) -> None:
    model, data = build(name, csbm(100, 3, seed=2))
    data = select_split(data, 0)
    train(model, data, QUICK.train)
    state = {key: value.clone() for key, value in model.state_dict().items()}
    before = model(data)
    model.reset_parameters()
    torch.testing.assert_close(model(data), torch.full((100, 3), math.log(1 / 3)))
    model.load_state_dict(state)
    assert torch.equal(model(data), before)
    assert isinstance(model, NeighbourBooster) == (name == "neighbour-booster")
