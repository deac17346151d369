"""A graph on disk trains and predicts like the same graph in memory, in little memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.data import (
    DiskFeatures,
    csbm,
    load_graph_folder,
    save_graph_folder,
    select_split,
)
from herofilter.errors import OutOfMemoryError
from herofilter.nn import HeroFilter, find_model, patch_batch
from herofilter.nn.inference.mixer_kernel import CHUNK
from herofilter.patchers import FastPatcher
from herofilter.predict.tables import write_node_predictions
from herofilter.settings import TrainConfig
from herofilter.training import predict_logits, prepare, prepare_features, seeded, train
from herofilter.training.fit_model import fit_model
from herofilter.training.predictor import Predictor

# a function of the same name hides the module
PREPARING = sys.modules["herofilter.training.prepare"]
QUICK = Config().replace(
    patch_size=4, hidden_channels=8, epochs=3, batch_size=40, patcher="fast", summary=False
)


def graph(sparse: bool = False) -> Data:
    data = csbm(num_nodes=300, num_classes=3, num_features=12, average_degree=6, seed=1)
    if sparse:
        data.x = torch.where(torch.rand(300, 12) < 0.2, data.x.sign(), 0)
    return select_split(data, 0)


def folder_of(data: Data, folder: Path, half: bool = False) -> Data:
    save_graph_folder(data, folder, half)
    return load_graph_folder(folder)


def trained(data: Data, model: str, config: Config) -> tuple[list, torch.Tensor]:
    prepared = prepare(data, config, model)
    with seeded(0):
        network = find_model(model).build(prepared, config)
    result = train(network, prepared, config.train)
    return result.history, predict_logits(network, prepared)


@pytest.mark.parametrize("model", ["herofilter", "mlp"])
@pytest.mark.parametrize("scaling", ["none", "rows", "standard"])
@pytest.mark.parametrize("sparse", [False, True])
def test_training_from_disk_is_the_same_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, scaling: str, sparse: bool
) -> None:
    data, config = graph(sparse), QUICK.replace(feature_scaling=scaling)
    expected = trained(data, model, config)
    other = folder_of(data, tmp_path / "graph")
    # small features are read as a whole
    assert not isinstance(prepare(other, config, model).x, DiskFeatures)
    read = trained(other, model, config)
    monkeypatch.setattr(PREPARING, "IN_MEMORY_BYTES", 0)
    assert isinstance(prepare(other, config, model).x, DiskFeatures)
    found = trained(other, model, config)
    for history, logits in (read, found):
        assert history == expected[0]
        assert torch.equal(logits, expected[1])


@pytest.mark.parametrize("settings", [{"summary": True}, {"stem": False}, {"label_tokens": True}])
def test_other_settings_work_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, bool]
) -> None:
    data, config = graph(), QUICK.replace(**settings)
    expected = trained(data, "herofilter", config)
    monkeypatch.setattr(PREPARING, "IN_MEMORY_BYTES", 0)
    found = trained(folder_of(data, tmp_path / "graph"), "herofilter", config)
    assert found[0] == expected[0]
    assert torch.equal(found[1], expected[1])


def test_a_model_of_whole_features_gets_them_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, config = graph(), QUICK.replace(feature_scaling="rows")
    expected = trained(data, "gcn", config)
    other = folder_of(data, tmp_path / "graph")
    monkeypatch.setattr(PREPARING, "IN_MEMORY_BYTES", 0)
    assert not isinstance(prepare(other, config, "gcn").x, DiskFeatures)
    found = trained(other, "gcn", config)
    assert found[0] == expected[0]
    assert torch.equal(found[1], expected[1])
    monkeypatch.setattr("herofilter.memory.free_memory", lambda: 1000)
    with pytest.raises(OutOfMemoryError) as caught:
        prepare(other, config, "gcn")
    assert str(caught.value) == (
        "a model that reads the features of all 300 nodes at once needs 14 KiB (1000 B are free); "
        "train herofilter or mlp, which read them from disk row by row"
    )


def test_half_precision_becomes_single_when_rows_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = graph()
    other = folder_of(data, tmp_path / "graph", half=True)
    monkeypatch.setattr(PREPARING, "IN_MEMORY_BYTES", 0)
    found = trained(other, "herofilter", QUICK)
    data.x = data.x.half().float()
    assert torch.equal(found[1], trained(data, "herofilter", QUICK)[1])


def test_a_saved_model_keeps_the_graph_it_was_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PREPARING, "IN_MEMORY_BYTES", 0)
    for name, sparse in (("dense", False), ("sparse", True)):
        other = folder_of(graph(sparse), tmp_path / name)
        fit = fit_model(other, ("a", "b", "c"), "herofilter", QUICK)
        fit.save(tmp_path / f"{name}-model")
        again = Predictor.load(tmp_path / f"{name}-model")
        torch.testing.assert_close(again.predict_proba(), fit.predict_proba())


def test_a_batch_is_chosen_by_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    model = HeroFilter(12, 3, FastPatcher(patch_size=4)(data))
    assert model.largest_batch(data) == 65536
    other = folder_of(data, tmp_path / "graph")
    monkeypatch.setattr(patch_batch, "_SMALLEST_BATCH", 4)
    monkeypatch.setattr(patch_batch, "_DISK_BATCH_BYTES", 100_000)
    count = model.largest_batch(other)
    # two rows of 12 features, three of 64 channels, and 40 bytes for each place in a patch
    assert count * 4 * (2 * 48 + 12 * 64 + 40) <= 100_000 < 2 * count * 4 * (2 * 48 + 12 * 64 + 40)
    assert model.largest_batch(data) == 65536
    monkeypatch.setattr(patch_batch, "_DISK_BATCH_BYTES", 1)
    assert model.largest_batch(other) == 4


def test_predictions_of_all_nodes_are_written_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = graph()
    with seeded(0):
        model = HeroFilter(12, 3, FastPatcher(patch_size=4)(data))
    train(model, data, TrainConfig(epochs=2))
    write_node_predictions(tmp_path / "whole.csv", model, data, ["a", "b", "c"])
    monkeypatch.setattr("herofilter.training.loop.EVAL_BATCH", 2 * CHUNK)
    events: list[Event] = []
    write_node_predictions(tmp_path / "parts.csv", model, data, ["a", "b", "c"], events.append)
    assert [event.done for event in events] == [64, 128, 192, 256, 300]
    # each node keeps its position in a chunk of the kernel, on which the last bit may depend
    assert (tmp_path / "parts.csv").read_text() == (tmp_path / "whole.csv").read_text()


def test_features_without_labels_can_be_prepared(tmp_path: Path) -> None:
    data = graph()
    del data.y
    prepared = prepare_features(folder_of(data, tmp_path / "graph"))
    assert torch.equal(prepared.x, data.x)


MEASURE = """
import json, sys, threading
import psutil, torch
from torch_geometric.data import Data
from herofilter.data import disk_features, load_graph_folder, save_graph_folder
from herofilter.nn import HeroFilter
from herofilter.nn import patch_batch
from herofilter.patchers import Patches
from herofilter.settings import ModelConfig, TrainConfig
from herofilter.training import train
from herofilter.predict.tables import write_node_predictions

def graph(n, folder):
    y = torch.arange(n) % 3
    part = torch.arange(n) % 40
    data = Data(edge_index=torch.tensor([[0], [1]]), y=y, num_nodes=n)
    data.x = torch.rand(1, 512).expand(n, 512)
    data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part == 2
    save_graph_folder(data, folder)
    index = torch.randint(0, n, (n, 4))
    return load_graph_folder(folder), Patches(index, torch.rand(n, 4))

def run(data, patches, out):
    model = HeroFilter(512, 3, patches, ModelConfig(hidden_channels=16, summary=False))
    train(model, data, TrainConfig(epochs=1, batch_size=256, feature_scaling="rows"))
    write_node_predictions(out, model, data)

torch.set_num_threads(1)
patch_batch._DISK_BATCH_BYTES = disk_features.MAPPED_BYTES = 2**24
folder, n = sys.argv[1], int(sys.argv[2])
# what is loaded at the first use isn't counted
run(*graph(34_000, folder + "/small"), folder + "/small.csv")
data, patches = graph(n, folder + "/large")
process, done, peak = psutil.Process(), threading.Event(), [0]
before = process.memory_info().rss

def watch():
    while not done.wait(0.002):
        peak[0] = max(peak[0], process.memory_info().rss)

watcher = threading.Thread(target=watch)
watcher.start()
run(data, patches, folder + "/large.csv")
done.set()
watcher.join()
print(json.dumps({"growth": peak[0] - before, "x": data.x.num_bytes}))
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_features(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path), "100000"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = json.loads(run.stdout)
    assert found["x"] == 100_000 * 512 * 4
    # pages of the file that are mapped at the moment are counted too
    assert found["growth"] < 0.6 * found["x"]
