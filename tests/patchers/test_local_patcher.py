"""The patcher of large graphs: its filter comes from the training labels, once."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.errors import ConfigError
from herofilter.nn import HeroFilter, find_model
from herofilter.nn.build import resolve
from herofilter.patchers import FastPatcher, LocalPatcher
from herofilter.patchers.alignment import aligned_coefficients
from herofilter.patchers.polynomial.local import LocalPolynomial
from herofilter.spectral import adjacency_matrix, normalised_adjacency
from herofilter.spectral.polynomial_basis import ChebyshevBasis
from herofilter.training import predict_logits, prepare, train
from herofilter.training.artifacts.weights import load_weights, weights_of


def graph(directed: bool = False) -> Data:
    return csbm(150, 2, heterophily=0.9, average_degree=8, seed=1, num_splits=1, directed=directed)


def known_labels(data: Data) -> torch.Tensor:
    return data.y.masked_fill(~data.train_mask.view(-1), -1)


def test_the_patch_is_that_of_the_aligned_filter() -> None:
    data = graph()
    patcher = LocalPatcher(data, FastPatcher(patch_size=6, self_loops=False), order=4)
    patcher.align(known_labels(data))
    matrix = normalised_adjacency(data.edge_index, 150, self_loops=False)
    theta = aligned_coefficients(ChebyshevBasis(matrix, 4), known_labels(data)).double().numpy()
    found = patcher.filter.coefficients(patcher.values).double().numpy()
    np.testing.assert_allclose(found / np.abs(found).max(), theta / np.abs(theta).max(), atol=1e-5)
    adjacency = adjacency_matrix(data.edge_index, 150, self_loops=False)
    expected = LocalPolynomial(adjacency, found).top(np.arange(150), 6)
    assert np.array_equal(patcher().index.numpy(), expected.index)
    assert patcher().homophily(data.y) > 0.6


def test_patches_are_made_once_and_only_when_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []
    call = FastPatcher.__call__

    def count(self: FastPatcher, *given: object) -> object:
        made.append(self.filters)
        return call(self, *given)

    monkeypatch.setattr(FastPatcher, "__call__", count)
    data = graph()
    patcher = LocalPatcher(data, FastPatcher(patch_size=6))
    patcher.align(known_labels(data))
    assert not made
    for _ in range(3):
        patcher(torch.tensor([3, 5]))
        patcher.refresh()
    assert len(made) == 1


def test_relations_of_a_directed_graph_come_before_the_filter() -> None:
    patcher = LocalPatcher(graph(True), FastPatcher(patch_size=9, directed="keep"), ("out", "in"))
    assert [slot.name for slot in patcher.slots] == ["ego", "out", "in", "filter-0"]
    fixed = FastPatcher(patch_size=7, directed="keep", relations=("out", "in"))(graph(True))
    patches = patcher()
    out = slice(patcher.slots[1].start, patcher.slots[1].stop)
    assert torch.equal(patches.index[:, out], fixed.index[:, 1:4])


@pytest.mark.parametrize("directed", [False, True])
def test_a_model_trains_saves_and_loads(directed: bool) -> None:
    config = Config().replace(patcher="local", patch_size=6, epochs=8, hidden_channels=16)
    data = select_split(prepare(graph(directed), config), 0)
    config = resolve(data, config)
    assert not config.model.summary
    model = find_model("herofilter").build(data, config)
    assert isinstance(model, HeroFilter)
    assert model.prefetches
    assert not model.filter_parameters()
    train(model, data, config.train)
    again = find_model("herofilter").build(data, config)
    load_weights(again, weights_of(model))
    assert torch.equal(predict_logits(again, data), predict_logits(model, data))


def test_there_are_no_summaries() -> None:
    with pytest.raises(ConfigError, match="summary must be off"):
        LocalPatcher(graph(), FastPatcher(patch_size=6)).summarise(torch.ones(150, 8))


def test_large_graphs_get_it_by_default() -> None:
    large = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=50_001)
    assert resolve(large, Config()).patcher.patcher == "local"
    small = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=50_000)
    assert resolve(small, Config()).patcher.patcher == "polynomial"
