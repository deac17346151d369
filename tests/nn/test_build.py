"""From a configuration to a patcher: relations, directions, summaries."""

import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, symmetrise
from herofilter.errors import ConfigError
from herofilter.nn import HeroFilter, find_model
from herofilter.nn.build import make_patcher, make_summary
from herofilter.patchers import Patches, PolynomialPatcher, SpectralPatcher
from herofilter.settings import RELATIONS
from herofilter.training import prepare


def build(data: Data, *settings: str) -> HeroFilter:
    config = Config().with_settings([*settings, "patch_size=9", "hidden_channels=8"])
    model = find_model("herofilter").build(prepare(data, config), config)
    assert isinstance(model, HeroFilter)
    return model


DIRECTED = ["directed=keep", "relations=out,in,coreference,cocitation"]


@pytest.mark.parametrize("patcher", ["spectral", "fast"])
def test_each_relation_has_its_slots_and_its_summary(patcher: str) -> None:
    data = csbm(num_nodes=60, directed=True)
    model = build(data, *DIRECTED, f"patcher={patcher}", "summary=true")
    assert [slot.name for slot in model.patcher.slots] == ["ego", *RELATIONS]
    assert model.summariser is not None
    assert model.summariser.num_summaries == 4
    assert model(prepare(data, Config())).shape == (60, int(data.y.max()) + 1)
    bare = build(data, *DIRECTED, f"patcher={patcher}", "summary=false")
    assert bare.summariser is None


def test_on_a_graph_without_directions_keep_is_the_paper() -> None:
    data = symmetrise(csbm(num_nodes=60, directed=True))
    kept = build(data, *DIRECTED, "patcher=spectral")
    plain = build(data, "directed=symmetrise", "patcher=spectral")
    assert isinstance(kept.patcher, SpectralPatcher)
    assert torch.equal(kept.patches().index, plain.patches().index)


def test_relations_of_the_spectral_patcher_rank_what_their_names_say() -> None:
    data = csbm(num_nodes=60, directed=True, average_degree=6)
    settings = [*DIRECTED, "patch_size=13", "self_loops=false", "activation=identity"]
    config = Config().with_settings(settings)
    spectral = make_patcher(data, config.replace(patcher="spectral"))
    fast = make_patcher(data, config.replace(patcher="fast"))
    assert isinstance(spectral, SpectralPatcher)
    assert isinstance(fast, Patches)
    for relation in ("coreference", "cocitation"):
        ours, theirs = spectral().slot(relation), fast.slot(relation)
        # w = 0.5 at the start
        torch.testing.assert_close(2 * ours.score.detach(), theirs.score, atol=1e-4, rtol=1e-4)


def test_large_graphs_have_no_summaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herofilter.nn.build.SUMMARY_LIMIT", 50)
    config = Config().replace(patcher="fast")
    assert make_summary(csbm(num_nodes=60), config) is None
    assert make_summary(csbm(num_nodes=40), config) is not None


def test_a_filter_that_only_eigenvectors_have_takes_the_spectral_patcher() -> None:
    data = csbm(num_nodes=60)
    assert isinstance(build(data, "filter=ppr").patcher, SpectralPatcher)
    for name in ("adaptive", "chebyshev"):
        assert isinstance(build(data, f"filter={name}").patcher, PolynomialPatcher)


@pytest.mark.parametrize("patcher", ["polynomial", "local"])
def test_no_filter_is_silently_ignored(patcher: str) -> None:
    with pytest.raises(ConfigError, match="set patcher=spectral"):
        Config().replace(patcher=patcher, filter="ppr")
