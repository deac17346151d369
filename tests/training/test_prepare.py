import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import is_directed
from herofilter.errors import GraphError
from herofilter.nn import HeroFilter
from herofilter.patchers import FastPatcher
from herofilter.training import prepare, prepare_features, seeded, train, train_splits
from herofilter.training.recipe import train_split
from tests.awkward import directed, no_features, plain
from tests.training.graphs import SMALL, hero, one_split


def with_x(x: torch.Tensor) -> Data:
    data = plain()
    data.x = x
    return data


def one_entry_in(columns: int) -> torch.Tensor:
    x = torch.zeros(10, columns)
    x[torch.arange(10), torch.arange(10) % columns] = 2.0
    return x


@pytest.mark.parametrize(("entries", "sparse"), [(10, True), (29, True), (30, False), (50, False)])
def test_features_become_sparse_below_three_tenths(entries: int, sparse: bool) -> None:
    x = torch.zeros(10, 10)
    x.view(-1)[:entries] = 2.0
    prepared = prepare_features(with_x(x))
    assert prepared.x.is_sparse_csr is sparse
    assert torch.equal(prepared.x.to_dense() if sparse else prepared.x, x)
    assert prepared.num_nodes == 10


@pytest.mark.parametrize("columns", [3, 20])
def test_rows_sum_to_one(columns: int) -> None:
    x = one_entry_in(columns) * torch.arange(10).unsqueeze(1)
    x[:, 0] += 1.0
    x[3] = 0.0
    prepared = prepare_features(with_x(x), "rows").x.to_dense()
    expected = torch.ones(10)
    expected[3] = 0.0
    torch.testing.assert_close(prepared.sum(1), expected)


def test_the_caller_keeps_his_graph() -> None:
    data = with_x(one_entry_in(20))
    before = data.x.clone()
    prepared = prepare_features(data, "rows")
    assert not data.x.is_sparse_csr
    assert torch.equal(data.x, before)
    assert torch.equal(prepared.edge_index, data.edge_index)
    assert torch.equal(prepared.y, data.y)
    assert torch.equal(prepared.train_mask, data.train_mask)


def test_preparing_twice_changes_nothing() -> None:
    once = prepare_features(with_x(one_entry_in(20)), "rows")
    twice = prepare_features(once, "rows")
    torch.testing.assert_close(twice.x.to_dense(), once.x.to_dense())


def hero_of_width(width: int, data: Data) -> HeroFilter:
    with seeded(0):
        return HeroFilter(width, 3, patcher=FastPatcher(patch_size=4)(data), config=SMALL.model)


def test_sparse_features_train_like_dense_ones() -> None:
    data = one_split()
    x = torch.nn.functional.one_hot(data.y * 16, 48).float()
    data.x = x
    assert prepare_features(data).x.is_sparse_csr
    sparse, dense = hero_of_width(48, data), hero_of_width(48, data)
    prepared = prepare_features(data)
    for model in (sparse, dense):
        model.eval()
    torch.testing.assert_close(sparse(prepared), dense(data))
    summary = train_splits(data, "herofilter", SMALL.replace(epochs=40))
    assert summary["test_accuracy"]["mean"] > 0.7


def test_no_features_become_degrees_and_train() -> None:
    prepared = prepare(no_features(), SMALL)
    assert prepared.featureless
    assert prepared.x.shape == (10, 2)
    data = one_split()
    data.x = None
    data.num_nodes = 80
    free = {"dropout": 0.0, "drop_path": 0.0, "weight_decay": 0.0}
    config = SMALL.replace(epochs=60, patience=60, **free)
    _, result = train_split(prepare(data, config), "herofilter", config, 0)
    # one learned vector per node can fit any labels
    assert result.history[-1].train_loss < 0.1 * result.history[0].train_loss
    assert data.x is None


def test_directed_edges_are_symmetrised_unless_kept() -> None:
    data = directed()
    assert is_directed(data)
    assert is_directed(prepare(data, Config()))
    assert not is_directed(prepare(data, Config().replace(directed="symmetrise")))
    # a model that can't read directions gets both
    assert not is_directed(prepare(data, Config(), "gcn"))
    assert is_directed(data)


def test_a_broken_graph_is_refused() -> None:
    data = plain()
    data.x[2, 1] = float("nan")
    with pytest.raises(GraphError, match="x must be finite \\(got 1 values"):
        prepare(data, Config())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_floating_types_train(dtype: torch.dtype) -> None:
    data = one_split()
    model = hero(data)
    data.x = data.x.to(dtype)
    assert len(train(model, data, SMALL.train).history) == SMALL.train.epochs
    assert data.x.dtype == dtype


def test_other_integer_labels_train() -> None:
    data = one_split()
    model = hero(data)
    data.y = data.y.int()
    assert len(train(model, data, SMALL.train).history) == SMALL.train.epochs
    assert data.y.dtype == torch.int32
