"""Training and prediction on a device other than the CPU, for which a pretended one stands in."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils import backend_registration
from torch_geometric.data import Data

from herofilter import HeroFilterClassifier
from herofilter.config import Config, from_earlier, paper_config
from herofilter.data import csbm, select_split
from herofilter.data.disk_features import DiskFeatures
from herofilter.data.graph_folder import load_graph_folder, save_graph_folder
from herofilter.data.placement import on_device
from herofilter.devices import available_devices, find_device
from herofilter.errors import ConfigError
from herofilter.nn import NodeClassifier, find_model, list_models
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.patchers import placed
from herofilter.settings import DEVICES, TrainConfig
from herofilter.training import default_workers, loop, placing, predictor, prepare, seeded
from herofilter.training.artifacts.checkpoint import Checkpoint
from herofilter.training.fit_model import fit_model, with_validation
from herofilter.training.predictor import Predictor
from tests.cli.test_cli import Cli, cli as cli
from tests.pretend import PretendTensor, pretend_device, pretend_generator

MODELS = [entry.name for entry in list_models()]
SMALL = Config().replace(patch_size=5, hidden_channels=16, epochs=4, refresh_every=2)
# without random numbers a training gives the same everywhere, up to rounding
STILL = SMALL.replace(dropout=0.0, input_dropout=0.0, drop_path=0.0, label_mask=0.0)
HAS_PRETEND = hasattr(backend_registration, "_setup_privateuseone_for_python_backend")
needs_pretend = pytest.mark.skipif(not HAS_PRETEND, reason="this torch has no Python backends")


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """Let every setting name the pretended device."""
    device = pretend_device()
    monkeypatch.setattr(placing, "find_device", lambda name: device)
    monkeypatch.setattr(loop, "generator_on", pretend_generator)
    monkeypatch.setattr(predictor, "find_device", lambda name: device)
    # a parameter can't change its class in place
    monkeypatch.setattr(torch.__future__, "get_overwrite_module_params_on_conversion", lambda: True)
    return device


def plain() -> Data:
    return csbm(num_nodes=90, num_classes=3, seed=1)


def sparse() -> Data:
    data = plain()
    kept = torch.rand(data.x.shape, generator=torch.Generator().manual_seed(0)) < 0.1
    data.x = data.x * kept
    return data


def featureless() -> Data:
    data = plain()
    data.x = None
    return data


def directed() -> Data:
    data = plain()
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    data.edge_weight = 0.5 + torch.arange(data.edge_index.size(1)) % 3
    return data


GRAPHS: dict[str, tuple[Callable[[], Data], Config]] = {
    "plain": (plain, SMALL),
    "in batches": (plain, SMALL.replace(batch_size=20)),
    "sparse features": (sparse, SMALL),
    "without features": (featureless, SMALL.replace(batch_size=20)),
    "directed and weighted": (directed, SMALL),
}
VARIANTS = {
    "spectral": SMALL.replace(patcher="spectral"),
    "paper": paper_config().replace(patch_size=4, epochs=3),
    "local": SMALL.replace(patcher="local"),
    "aligned": SMALL.replace(filter_starts=("aligned", "low")),
    "labels": SMALL.replace(label_tokens=True, label_shares=True),
    "weighted classes": SMALL.replace(class_weights=True, label_smoothing=0.1),
    "deep": SMALL.replace(num_layers=3, head_layers=2),
    "slots": SMALL.replace(aggregation="slot_concat", score_norm="straight_through"),
    "paths dropped": SMALL.replace(drop_path=0.5),
    "patch norm": SMALL.replace(norm="patch", monitor="auc"),
}


def built(name: str, data: Data, config: Config) -> tuple[NodeClassifier, Data]:
    data = prepare(data, config, name)
    with seeded(0):
        return find_model(name).build(data, config), data


def train_and_predict(name: str, data: Data, config: Config, device: torch.device) -> None:
    """Train on a device; the model comes back, and predicts there what it does on the CPU."""
    model, data = built(name, data, config)
    there = set()
    loop.train(model, select_split(data, 0), config.train, lambda _: there.add(model.device.type))
    assert there == {"cpu" if model.boosted else device.type}
    assert model.device.type == "cpu"
    assert not any(isinstance(one, PretendTensor) for one in model.state_dict().values())
    expected = loop.predict_logits(model, data)
    if not model.boosted:
        model.to(device)
    found = loop.predict_logits(model, data)
    assert type(found) is Tensor
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    some = loop.predict_logits(model, data, torch.tensor([5, 3, 5]))
    torch.testing.assert_close(some, expected[[5, 3, 5]], rtol=1e-4, atol=1e-4)


@needs_pretend
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", MODELS)
def test_every_model_elsewhere(name: str, graph: str, pretended: torch.device) -> None:
    make, config = GRAPHS[graph]
    train_and_predict(name, make(), config, pretended)


@needs_pretend
@pytest.mark.parametrize("make", [plain, directed])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_setting_elsewhere(
    variant: str, make: Callable[[], Data], pretended: torch.device
) -> None:
    train_and_predict("herofilter", make(), VARIANTS[variant], pretended)


@needs_pretend
@pytest.mark.parametrize("name", [entry.name for entry in list_models() if entry.gradients])
def test_the_result_is_that_of_the_cpu_without_random_numbers(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    config = STILL.replace(epochs=3)
    outcomes = []
    for place in ("here", "there"):
        if place == "there":
            request.getfixturevalue("pretended")
        model, data = built(name, directed(), config)
        result = loop.train(model, select_split(data, 0), config.train)
        outcomes.append((result, loop.predict_logits(model, data)))
    (here, expected), (there, found) = outcomes
    assert [e.train_loss for e in there.history] == pytest.approx(
        [e.train_loss for e in here.history], rel=1e-3
    )
    torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)


@needs_pretend
def test_the_pretended_device_refuses_what_a_real_one_does() -> None:
    device = pretend_device()
    there, here = torch.ones(3, 2, device=device), torch.ones(3, 2)
    generator = torch.Generator()
    for wrong in (
        lambda: there + here,
        lambda: there.numpy(),
        lambda: np.asarray(there),
        lambda: there[torch.tensor([0])],
        lambda: here[torch.tensor([0], device=device)],
        lambda: there.__setitem__(slice(None), here),
        lambda: there.double(),
        lambda: there.to_sparse_csr(),
        lambda: torch.randperm(3, generator=generator, device=device),
    ):
        with pytest.raises((RuntimeError, TypeError)):
            wrong()
    assert torch.equal((there + 1).cpu(), here + 1)
    there.copy_(2 * here)
    assert there.sum().item() == 12


@needs_pretend
def test_a_training_elsewhere_continues_from_its_checkpoint(
    tmp_path: Path, pretended: torch.device
) -> None:
    class Killed(BaseException):
        pass

    def stop(event: object) -> None:
        raise Killed

    config = SMALL.replace(epochs=5, batch_size=20, label_shares=True)

    def run(name: str, **options: object) -> tuple[list[float], dict[str, Tensor]]:
        model, data = built("herofilter", plain(), config)
        kept = Checkpoint(tmp_path / name, {"graph": "small"}, every=0.0)
        result = loop.train(model, select_split(data, 0), config.train, checkpoint=kept, **options)
        return [epoch.train_loss for epoch in result.history], model.state_dict()

    expected = run("first")
    with pytest.raises(Killed):
        run("second", callback=stop)
    found = run("second")
    assert found[0] == expected[0]
    assert all(torch.equal(found[1][key], value) for key, value in expected[1].items())


@needs_pretend
def test_features_and_patches_that_stay_in_main_memory(
    tmp_path: Path, pretended: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placed, "_COPIED_BYTES", 0)
    monkeypatch.setattr(sys.modules["herofilter.training.prepare"], "IN_MEMORY_BYTES", 0)
    save_graph_folder(plain(), tmp_path / "graph")
    data = load_graph_folder(tmp_path / "graph")
    assert isinstance(data.x, DiskFeatures)
    config = SMALL.replace(summary=False, batch_size=20)
    train_and_predict("fast-herofilter", data, config, pretended)


@needs_pretend
@pytest.mark.parametrize("name", ["herofilter", "booster"])
def test_a_saved_model_predicts_elsewhere_when_it_is_asked_to(
    name: str, tmp_path: Path, pretended: torch.device
) -> None:
    data = with_validation(plain(), 0.2)
    fitted = fit_model(data, ("a", "b", "c"), name, SMALL)
    fitted.save(tmp_path / "model")
    loaded = Predictor.load(tmp_path / "model")
    assert loaded.placed[0].device.type == "cpu"
    expected = loaded.predict_proba()
    there = loaded.to("auto")
    torch.testing.assert_close(there.predict_proba(), expected, rtol=1e-4, atol=1e-4)
    assert there.placed[0].device.type == ("cpu" if name == "booster" else "pretend")
    assert there.network.device.type == "cpu"
    other = csbm(num_nodes=40, num_classes=3, seed=2)
    torch.testing.assert_close(
        there.on(other).predict_proba(), loaded.on(other).predict_proba(), rtol=1e-4, atol=1e-4
    )


@needs_pretend
def test_the_estimator_trains_elsewhere(pretended: torch.device) -> None:
    data = plain()
    classifier = HeroFilterClassifier(graph=data, model="gcn", epochs=3, device="cuda")
    classifier.fit(range(60), data.y[:60].numpy())
    assert classifier.config_.train.device == "cuda"
    assert classifier.predict_proba([61, 62]).shape == (2, 3)


@needs_pretend
def test_several_processes_train_on_the_cpu(pretended: torch.device) -> None:
    model, _ = built("mlp", plain(), SMALL)
    with pytest.raises(ConfigError) as error:
        placing.training_device(model, "cuda", team=object())  # type: ignore[arg-type]
    assert str(error.value) == (
        "device must be cpu where several processes train together (got pretend); set device=cpu"
    )


def test_a_device_that_is_absent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ConfigError) as error:
        find_device("cuda")
    assert str(error.value) == (
        "device must be one that is here, cpu (got cuda); set device=auto for the best of them"
    )
    assert find_device("auto") == torch.device("cpu")
    with pytest.raises(ConfigError, match="device must be one of auto, cpu, cuda, mps"):
        find_device("gpu")


def test_auto_is_cuda_then_mps_then_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert available_devices() == ("cuda", "mps", "cpu")
    config = Config().replace(device="auto")
    assert resolve_defaults(plain(), config).train.device == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_defaults(plain(), config).train.device == "mps"


def test_a_wrong_setting_is_refused() -> None:
    with pytest.raises(ConfigError, match="device must be one of auto, cpu, cuda, mps"):
        TrainConfig(device="tpu")
    assert Config().train.device in DEVICES


def test_settings_of_an_earlier_version_are_those_of_the_cpu() -> None:
    earlier = Config().to_dict()
    del earlier["train"]["device"]
    assert from_earlier(earlier) == Config().to_dict()


def test_a_graph_that_is_there_stays_as_it_is() -> None:
    data = plain()
    assert on_device(data, torch.device("cpu")) is data


def test_splits_have_a_device_to_themselves() -> None:
    data = csbm(num_nodes=1200, num_classes=2)
    assert default_workers(data, range(10), "cuda") == 1
    assert default_workers(data, range(10)) >= 1


def test_the_command_line_refuses_a_device_that_is_absent(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    outcome = cli("train", "karate", "--model", "mlp", "--set", "device=cuda", "--out", "run")
    assert outcome.code == 2
    assert "device must be one that is here, cpu (got cuda)" in outcome.err
    for command in (
        ("train", "karate", "--model", "auto", "--out", "auto"),
        ("tune", "karate", "--trials", "1", "--out", "search"),
        ("bench", "ogb", "karate", "--out", "ogb"),
    ):
        outcome = cli(*command, "--set", "device=cuda")
        assert (outcome.code, "must be one that is here" in outcome.err) == (2, True), outcome.err
    cli("train", "karate", "--model", "mlp", "--set", "epochs=3", "--out", "run", "--no-report")
    outcome = cli("predict", "run", "--device", "mps")
    assert outcome.code == 2
    assert "device must be one that is here, cpu (got mps)" in outcome.err
    outcome = cli("predict", "run", "--device", "auto")
    assert outcome.code == 0, outcome.err
