"""Shares are what leaving a token out by hand gives, and every kind of patch has them."""

import dataclasses
import json
import math

import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config, paper_config
from herofilter.data import csbm, select_split
from herofilter.errors import ConfigError, GraphError
from herofilter.nn import HeroFilter, NodeClassifier, find_model
from herofilter.patchers import FastPatcher, SpectralPatcher
from herofilter.predict import Explanation, explain_node
from herofilter.training import predict_logits, prepare, seeded, train
from tests.awkward import AWKWARD

SMALL = Config().replace(patch_size=6, hidden_channels=8, epochs=8)


def graph(directed: bool = False) -> Data:
    return select_split(csbm(num_nodes=60, num_classes=3, directed=directed, seed=1), 0)


def trained(
    data: Data, config: Config = SMALL, name: str = "herofilter"
) -> tuple[NodeClassifier, Data]:
    prepared = prepare(data, config, name)
    with seeded(0):
        model = find_model(name).build(prepared, config)
    train(model, prepared, config.train)
    return model, prepared


KINDS = {
    "spectral": ["patcher=spectral"],
    "fast": ["patcher=fast"],
    "label tokens": ["patcher=fast", "label_tokens=true"],
    "no summary": ["patcher=spectral", "summary=false"],
    "no stem": ["patcher=fast", "stem=false"],
    "ranked": ["patcher=spectral", "ego=ranked"],
    "scaled features": ["patcher=fast", "feature_scaling=rows"],
    "standardised features": ["patcher=fast", "feature_scaling=standard"],
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_prediction_is_the_network_s_own(kind: str, directed: bool) -> None:
    data = graph(directed)
    model, prepared = trained(data, SMALL.with_settings(KINDS[kind]))
    for node in (0, 17):
        found = explain_node(model, prepared, node, temperature=1.5)
        logits = predict_logits(model, prepared, torch.tensor([node]))[0]
        expected = (logits.double() / 1.5).softmax(0)
        assert found.predicted == int(logits.argmax())
        assert found.probability == pytest.approx(float(expected.max()), abs=1e-6)
        shares = [abs(token.share) for token in found.tokens]
        assert sum(shares) == pytest.approx(1.0)
        assert shares == sorted(shares, reverse=True)


def test_a_change_is_what_leaving_the_token_out_by_hand_gives() -> None:
    model, prepared = trained(graph(directed=True), SMALL.replace(patcher="fast"))
    assert isinstance(model, HeroFilter)
    found = explain_node(model, prepared, 5)
    (tokens,) = model.token_chunks(prepared, torch.tensor([5]))
    patches = model.patches(torch.tensor([5]))
    names = [slot.name for slot in patches.slots for _ in range(slot.start, slot.stop)]
    names += model.relations.relations
    full = model.mix(tokens)[0].log_softmax(0)[found.predicted].item()
    changes = {}
    for position in range(tokens.size(0)):
        if position < 6 and int(patches.index[0, position]) < 0:
            continue
        without = tokens.clone()
        without[position] = 0
        node = int(patches.index[0, position]) if position < 6 else None
        rest = model.mix(without)[0].log_softmax(0)[found.predicted].item()
        changes[names[position], node] = full - rest
    assert {(token.slot, token.node): token.change for token in found.tokens} == pytest.approx(
        changes, abs=1e-5
    )


def test_a_token_that_the_model_does_not_read_has_no_share() -> None:
    data = graph()
    # the aggregation starts by reading the first position only, and there is no mixing
    config = dataclasses.replace(SMALL.model, num_layers=0, summary=False)
    model = HeroFilter(32, 3, SpectralPatcher(data, patch_size=6), config)
    ego, *others = explain_node(model, data, 3).tokens
    assert (ego.slot, ego.node, abs(ego.share)) == ("ego", 3, 1.0)
    assert [token.share for token in others] == [0.0] * 5


def test_members_carry_scores_and_training_labels_and_summaries_neither() -> None:
    data = graph(directed=True)
    model, prepared = trained(data)
    assert isinstance(model, HeroFilter)
    seen = set()
    for node in range(10):
        patches = model.patches(torch.tensor([node]))
        members = set(zip(patches.index[0].tolist(), patches.score[0].tolist(), strict=True))
        for token in explain_node(model, prepared, node).tokens:
            if token.node is None:
                assert (token.score, token.label) == (None, None)
                continue
            known = bool(data.train_mask[token.node])
            assert token.label == (int(data.y[token.node]) if known else None)
            assert (token.node, token.score) in members
            seen |= {known}
    assert seen == {True, False}


def test_without_a_split_no_label_is_named() -> None:
    data = csbm(num_nodes=60, num_classes=3, num_splits=2)
    model = HeroFilter(32, 3, FastPatcher(patch_size=4)(data))
    assert {token.label for token in explain_node(model, data, 0).tokens} == {None}


def test_summaries_bear_the_names_of_their_relations() -> None:
    for patcher in ("spectral", "fast"):
        model, prepared = trained(graph(directed=True), SMALL.replace(patcher=patcher))
        found = explain_node(model, prepared, 0)
        names = [token.slot for token in found.tokens if token.node is None]
        assert sorted(names) == ["cocitation", "coreference", "in", "out"]


def test_padding_is_no_token() -> None:
    data = AWKWARD["no_edges"]()
    model = HeroFilter(4, 3, FastPatcher(patch_size=4)(data))
    assert [token.node for token in explain_node(model, data, 2).tokens] == [2]


def test_the_response_is_that_of_the_filters_on_the_graph() -> None:
    model, prepared = trained(graph(), SMALL.replace(patcher="spectral"))
    assert isinstance(model, HeroFilter)
    response = explain_node(model, prepared, 0).response
    assert response is not None
    values, order = model.patcher.eigenvalues.sort()
    assert response["eigenvalues"] == values.tolist()
    assert [curve["name"] for curve in response["filters"]] == ["filter-0", "filter-1"]
    for curve, expected in zip(response["filters"], model.patcher.responses(), strict=True):
        assert curve["response"] == expected[order].tolist()


def test_many_eigenvalues_are_thinned_to_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herofilter.predict.explain.RESPONSE_POINTS", 7)
    data = graph()
    patcher = SpectralPatcher(data, patch_size=4)
    response = explain_node(HeroFilter(32, 3, patcher), data, 0).response
    assert response is not None
    kept = response["eigenvalues"]
    assert len(kept) == len(response["filters"][0]["response"]) == 7
    assert (kept[0], kept[-1]) == (float(patcher.eigenvalues.min()), patcher.eigenvalues.max())


def test_fixed_patches_have_no_response() -> None:
    model, prepared = trained(graph(), SMALL.replace(patcher="fast"))
    assert explain_node(model, prepared, 0).response is None


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("patcher", ["spectral", "fast"])
def test_awkward_graphs(name: str, patcher: str) -> None:
    config = SMALL.replace(patch_size=4, patcher=patcher)
    prepared = prepare(AWKWARD[name](), config)
    with seeded(0):
        model = find_model("herofilter").build(prepared, config)
    found = explain_node(model, prepared, 1)
    assert any(token.node == 1 for token in found.tokens)
    assert math.isfinite(sum(token.share for token in found.tokens))
    json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_the_paper_s_setting() -> None:
    model, prepared = trained(graph(), paper_config().replace(patch_size=6, epochs=3))
    assert isinstance(explain_node(model, prepared, 4), Explanation)


def test_other_models_are_refused() -> None:
    model, prepared = trained(graph(), name="mlp")
    with pytest.raises(ConfigError) as caught:
        explain_node(model, prepared, 0)
    assert str(caught.value) == (
        "network must be a HeroFilter, whose tokens can be left out one by one "
        "(got MLP); train herofilter or fast-herofilter instead"
    )


@pytest.mark.parametrize("node", [-1, 60])
def test_a_node_outside_the_graph(node: int) -> None:
    data = graph()
    model = HeroFilter(32, 3, FastPatcher(patch_size=4)(data))
    with pytest.raises(GraphError) as caught:
        explain_node(model, data, node)
    assert str(caught.value) == f"node must be from 0 to 59 (got {node})"


def test_a_temperature_of_zero() -> None:
    data = graph()
    model = HeroFilter(32, 3, FastPatcher(patch_size=4)(data))
    with pytest.raises(ConfigError, match=r"^temperature must be above 0 \(got 0\)$"):
        explain_node(model, data, 0, temperature=0.0)
