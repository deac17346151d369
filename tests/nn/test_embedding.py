import pytest
import torch
from torch import nn

from herofilter.nn.embedding import NodeEmbedding, set_row_gradients
from herofilter.nn.labels import LabelTokens
from herofilter.nn.stem import FeatureLinear, Stem
from herofilter.training import seeded


def test_some_rows_and_all_of_them() -> None:
    layer = NodeEmbedding(6, 3)
    nodes = torch.tensor([4, 0, 4])
    assert torch.equal(layer(), layer.weight)
    for rows in (False, True):
        set_row_gradients(layer, rows)
        assert torch.equal(layer(nodes), layer.weight[nodes])


@pytest.mark.parametrize("order", [[1, 4], [4, 1], [4, 1, 4]])
def test_gradients_of_rows_are_those_of_the_table(order: list[int]) -> None:
    layer, nodes = NodeEmbedding(6, 3), torch.tensor(order)
    upstream = torch.randn(len(order), 3)
    found = []
    for rows in (False, True):
        set_row_gradients(layer, rows)
        layer.weight.grad = None
        layer(nodes).backward(upstream)
        assert layer.weight.grad.is_sparse == rows
        found.append(layer.weight.grad.to_dense() if rows else layer.weight.grad)
    torch.testing.assert_close(*found)


def test_all_nodes_have_a_dense_gradient() -> None:
    layer = NodeEmbedding(6, 3, sparse=True)
    layer().sum().backward()
    assert layer.weight.grad.layout == torch.strided


def test_only_vectors_of_nodes_are_meant() -> None:
    stem = Stem(4, 8, num_embeddings=5)
    model = nn.ModuleList([stem, LabelTokens(5, 3, 8)])
    found = set_row_gradients(model, True)
    assert [id(table) for table in found] == [id(stem.embedding.weight)]
    assert stem.embedding.sparse
    assert not model[1].embedding.sparse
    set_row_gradients(model, False)
    assert not stem.embedding.sparse


def test_a_stem_has_the_initial_weights_of_torch_layers() -> None:
    with seeded(3):
        stem = Stem(4, 8, num_embeddings=5)
    with seeded(3):
        linear, table = FeatureLinear(4, 8), nn.Embedding(5, 8)
        # once all layers are made, they are initialised again
        linear.reset_parameters()
        nn.init.normal_(table.weight, std=0.1)
    assert torch.equal(stem.embedding.weight, table.weight)
    assert torch.equal(stem.linear.weight, linear.weight)
