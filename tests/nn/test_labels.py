"""Label tokens: predictions use no validation or test label, nor that of the node itself."""

import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.nn import HeroFilter, find_model
from herofilter.nn.labels import LabelTokens
from herofilter.training import predict_logits, prepare, seeded, train

SETTINGS = [
    "label_tokens=true",
    "epochs=12",
    "aggregation=slot_concat",
    "patch_size=6",
    "hidden_channels=8",
    "patience=20",
]


def graph() -> Data:
    return select_split(csbm(num_nodes=80, num_classes=3, heterophily=0.3, seed=1), 0)


def logits(data: Data, patcher: str, extra: list[str] | None = None) -> torch.Tensor:
    config = Config().with_settings([*SETTINGS, f"patcher={patcher}", *(extra or [])])
    prepared = prepare(data, config)
    with seeded(0):
        model = find_model("herofilter").build(prepared, config)
    # early stopping reads validation labels; with so much patience it never stops
    train(model, prepared, config.train)
    return predict_logits(model, prepared)


@pytest.mark.parametrize("patcher", ["spectral", "fast"])
def test_labels_outside_training_change_nothing(patcher: str) -> None:
    data = graph()
    # the best epoch may depend on validation labels: with a single epoch there is no choice
    one = ["epochs=1"]
    before = logits(data, patcher, one)
    other = data.clone()
    outside = ~other.train_mask
    other.y[outside] = (other.y[outside] + 1) % 3
    assert torch.equal(logits(other, patcher, one), before)


@pytest.mark.parametrize("patcher", ["spectral", "fast"])
def test_test_labels_change_nothing_in_a_long_training(patcher: str) -> None:
    data = graph()
    before = logits(data, patcher)
    other = data.clone()
    other.y[other.test_mask] = (other.y[other.test_mask] + 1) % 3
    assert torch.equal(logits(other, patcher), before)


def test_training_labels_do_change_predictions() -> None:
    data = graph()
    config = Config().with_settings([*SETTINGS, "patcher=fast"])
    prepared = prepare(data, config)
    with seeded(0):
        model = find_model("herofilter").build(prepared, config)
    train(model, prepared, config.train)
    before = predict_logits(model, prepared)
    model.show_labels(torch.full((80,), -1))
    assert not torch.allclose(predict_logits(model, prepared), before)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("ego", ["first", "ranked"])
def test_the_label_of_the_node_itself_is_hidden(training: bool, ego: str) -> None:
    data = graph()
    config = Config().with_settings([*SETTINGS, "patcher=fast", f"ego={ego}", "label_mask=0"])
    prepared = prepare(data, config)
    with seeded(0):
        model = find_model("herofilter").build(prepared, config)
    assert isinstance(model, HeroFilter)
    model.train(training)
    for layer in model.modules():
        if hasattr(layer, "p"):
            layer.p = 0.0
    labels = data.y.masked_fill(~data.train_mask, -1)
    model.show_labels(labels)
    before = model(prepared)
    node = int(data.train_mask.nonzero()[0])
    labels[node] = (labels[node] + 1) % 3
    model.show_labels(labels)
    after = model(prepared)
    assert torch.equal(after[node], before[node])
    assert not torch.equal(after, before)


def test_the_mask_hides_a_share_in_training_only() -> None:
    tokens = LabelTokens(100, 3, 4, mask=0.25)
    tokens.mask.generator = torch.Generator().manual_seed(0)
    tokens.show(torch.zeros(100, dtype=torch.long))
    nodes = torch.zeros(99, dtype=torch.long)
    index = torch.arange(1, 100).repeat(99, 1)
    hidden = (tokens.look_up(index, nodes) == 3).float().mean()
    assert 0.23 < float(hidden) < 0.27
    tokens.eval()
    assert bool((tokens.look_up(index, nodes) == 0).all())


def test_nothing_is_known_before_labels_are_shown() -> None:
    tokens = LabelTokens(4, 2, 3).eval()
    assert tokens.look_up(torch.tensor([[1, -1]]), torch.tensor([0])).tolist() == [[2, 2]]


def test_shown_labels_are_saved_with_the_weights() -> None:
    tokens = LabelTokens(3, 2, 4)
    tokens.show(torch.tensor([1, -1, 0]))
    copy = LabelTokens(3, 2, 4)
    copy.load_state_dict(tokens.state_dict())
    assert copy.known.tolist() == [1, 2, 0]


def test_labels_alone_can_be_read_without_features_or_node_vectors() -> None:
    data = csbm(num_nodes=60, num_classes=3)
    del data.x
    settings = ["patcher=fast", "label_tokens=true", "summary=false"]
    data = prepare(data, Config())
    with_vectors, without = (
        find_model("herofilter").build(
            data, Config().with_settings([*settings, f"node_vectors={flag}"])
        )
        for flag in ("true", "false")
    )
    assert len(with_vectors.embedding_parameters()) == len(without.embedding_parameters()) + 1
    assert without(data).shape == (60, 3)
