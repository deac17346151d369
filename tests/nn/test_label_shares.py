"""Class shares of known neighbours: right, and blind to a node's own label."""

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.nn import find_model
from herofilter.nn.label_shares import LabelShares
from herofilter.patchers.filter_bank import RELATION_WORDS
from herofilter.spectral import normalised_adjacency
from herofilter.training import predict_logits, prepare, train
from tests.awkward import AWKWARD

GRAPHS = ["plain", "directed", "isolated_nodes", "self_loops", "weighted", "duplicate_edges"]


def make(data: Data, directed: str, mask: float = 0.5) -> tuple[LabelShares, Tensor]:
    """Return the shares of all relations of a graph, and their matrices, dense."""
    matrix = normalised_adjacency(
        data.edge_index, 10, data.get("edge_weight"), self_loops=False, directed=directed
    )
    dense = torch.from_numpy(matrix.toarray())
    words = torch.stack([dense, dense.t(), dense @ dense.t(), dense.t() @ dense])
    return LabelShares(matrix, list(RELATION_WORDS.values()), 3, 8, mask), words


@pytest.mark.parametrize("name", [name for name in GRAPHS if name in AWKWARD])
@pytest.mark.parametrize("directed", ["keep", "symmetrise"])
def test_shares_against_dense_matrices_without_their_diagonal(name: str, directed: str) -> None:
    data = AWKWARD[name]()
    shares, words = make(data, directed)
    labels = data.y.clone()
    labels[::3] = -1
    shares.eval().show(labels)
    one_hot = torch.nn.functional.one_hot(labels.clamp(min=0), 3) * (labels >= 0).unsqueeze(1)
    for number, word in enumerate(words):
        counted = (word - torch.diag(word.diagonal())) @ one_hot.double()
        total = counted.sum(1, keepdim=True)
        expected = torch.cat([counted / total.clamp(min=1e-9), total], dim=1)
        torch.testing.assert_close(shares.shares()[number], expected.float(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name in GRAPHS if name in AWKWARD])
@pytest.mark.parametrize("directed", ["keep", "symmetrise"])
def test_no_node_sees_its_own_label(name: str, directed: str) -> None:
    data = AWKWARD[name]()
    shares, _ = make(data, directed)
    shares.eval()
    labels = torch.arange(10) % 3
    for node in range(10):
        seen = []
        for label in (-1, 0, 1, 2):
            changed = labels.clone()
            changed[node] = label
            shares.show(changed)
            seen.append(shares.shares()[:, node])
        for other in seen[1:]:
            assert torch.equal(other, seen[0])


def test_labels_are_masked_in_training_only() -> None:
    shares, _ = make(AWKWARD["plain"](), "symmetrise")
    shares.show(torch.arange(10) % 3)
    torch.manual_seed(0)
    shares.train()
    drawn = [shares.shares() for _ in range(3)]
    assert not torch.equal(drawn[0], drawn[1])
    shares.eval()
    assert torch.equal(shares.shares(), shares.shares())


@pytest.mark.parametrize("patcher", ["polynomial", "fast"])
@pytest.mark.parametrize("directed", ["keep", "symmetrise"])
def test_a_model_with_shares_is_blind_to_a_nodes_own_label(patcher: str, directed: str) -> None:
    config = Config().replace(
        patcher=patcher, directed=directed, patch_size=4, label_shares=True, label_tokens=True
    )
    data = prepare(AWKWARD["directed"](), config)
    torch.manual_seed(0)
    model = find_model("herofilter").build(data, config).eval()
    # at its start the model reads the node's own token only
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    labels = torch.arange(10) % 3
    model.show_labels(labels)
    before = predict_logits(model, data)
    for node in range(10):
        changed = labels.clone()
        changed[node] = (changed[node] + 1) % 3
        model.show_labels(changed)
        after = predict_logits(model, data)
        assert torch.equal(after[node], before[node])
    assert not torch.equal(after, before)


def test_a_model_with_shares_trains() -> None:
    config = Config().replace(label_shares=True, patch_size=4, epochs=5)
    data = prepare(AWKWARD["plain"](), config)
    model = find_model("herofilter").build(data, config)
    result = train(model, data, config.train)
    assert len(result.history) == 5
