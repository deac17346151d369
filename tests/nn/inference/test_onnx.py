"""The exported file gives the network's probabilities from inputs that a batch job can make."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.errors import ConfigError, GraphError, MissingExtraError, OutOfMemoryError, RunError
from herofilter.nn import HeroFilter, export_onnx, find_model, serving_inputs
from herofilter.nn.inference.serving import ServedModel
from herofilter.patchers import FastPatcher
from herofilter.training import prepare, seeded, train
from tests.awkward import AWKWARD

SMALL = Config().replace(patch_size=6, hidden_channels=8, epochs=8)
KINDS = {
    "polynomial": ["patcher=polynomial"],
    "local": ["patcher=local"],
    "label shares": ["patcher=polynomial", "label_shares=true", "label_tokens=true"],
    "spectral": ["patcher=spectral"],
    "fast": ["patcher=fast"],
    "label tokens": ["patcher=fast", "label_tokens=true", "aggregation=slot_concat"],
    "no summary": ["patcher=fast", "summary=false", "norm=patch", "aggregation=ego_concat"],
    "no stem": ["patcher=spectral", "stem=false", "num_layers=2", "aggregation=flatten"],
    "ranked": ["patcher=fast", "ego=ranked", "score_norm=raw", "residual=false"],
    "ego alone": ["patcher=fast", "patch_size=1", "num_layers=0", "head_layers=2"],
}


def graph(sparse: bool = False) -> Data:
    data = select_split(csbm(num_nodes=60, num_classes=3, directed=True, seed=1), 0)
    if sparse:
        data.x = torch.where(data.x > 1, data.x, 0.0)
    return data


def trained(*settings: str, sparse: bool = False) -> tuple[HeroFilter, Data]:
    config = SMALL.with_settings(settings)
    prepared = prepare(graph(sparse), config)
    with seeded(0):
        model = find_model("herofilter").build(prepared, config)
    assert isinstance(model, HeroFilter)
    train(model, prepared, config.train)
    return model, prepared


def expected(model: HeroFilter, data: Data, nodes: torch.Tensor, temperature: float) -> Any:
    with torch.no_grad():
        return (model.eval()(data, nodes) / temperature).softmax(1).numpy()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_served_model_gives_the_networks_probabilities(kind: str, sparse: bool) -> None:
    model, data = trained(*KINDS[kind], sparse=sparse)
    nodes = torch.tensor([3, 0, 3, 59])
    inputs = serving_inputs(model, data, nodes)
    with torch.no_grad():
        served = ServedModel(model, 1.5)(**{k: torch.from_numpy(v) for k, v in inputs.items()})
    np.testing.assert_allclose(served, expected(model, data, nodes, 1.5), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_gives_the_same_for_a_batch_of_any_length(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    model, data = trained(*KINDS[kind])
    file = tmp_path / "model.onnx"
    export_onnx(model, file, temperature=1.5)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (output,) = session.get_outputs()
    assert (output.name, output.shape) == ("probabilities", ["batch", 3])
    for nodes in (torch.tensor([7]), torch.arange(60)):
        inputs = serving_inputs(model, data, nodes)
        assert [entry.name for entry in session.get_inputs()] == list(inputs)
        (served,) = session.run(None, inputs)
        np.testing.assert_allclose(served, expected(model, data, nodes, 1.5), atol=1e-5)
        np.testing.assert_allclose(served.sum(1), 1, atol=1e-6)


def test_neither_graph_nor_labels_are_in_the_file(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    onnx = pytest.importorskip("onnx")
    model, _ = trained("patcher=spectral", "label_tokens=true")
    export_onnx(model, tmp_path / "model.onnx")
    stored = onnx.load(tmp_path / "model.onnx").graph.initializer
    assert stored
    # 60 nodes: eigenvectors, patches and known labels all have an axis of that length
    assert [tensor.name for tensor in stored if 60 in tensor.dims] == []


def test_padding_is_zero_in_every_input_that_has_positions() -> None:
    data = AWKWARD["no_edges"]()
    model = HeroFilter(4, 3, patcher=FastPatcher(patch_size=3)(data))
    inputs = serving_inputs(model, data)
    assert np.array_equal(inputs["tokens_x"][:, 0], data.x.numpy())
    assert not inputs["tokens_x"][:, 1:].any()
    assert inputs["scale"].tolist() == [[1.0, 0.0, 0.0]] * 10


def test_a_file_that_differs_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    model, _ = trained("patcher=fast")
    monkeypatch.setattr("herofilter.nn.inference.onnx.TOLERANCE", -1.0)
    with pytest.raises(RunError) as caught:
        export_onnx(model, tmp_path / "model.onnx")
    assert str(caught.value).startswith(
        "the exported file must give the network's probabilities to -1 (got a difference of "
    )
    assert str(caught.value).endswith("), so it wasn't kept; serve the network with torch")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_names_its_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = trained("patcher=fast")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        export_onnx(model, tmp_path / "model.onnx")
    assert str(caught.value) == (
        "exporting a network needs the optional part 'onnx', which isn't installed; "
        'install it with: pip install "herofilter[onnx]"'
    )


def test_a_temperature_below_zero(tmp_path: Path) -> None:
    model, _ = trained("patcher=fast")
    with pytest.raises(ConfigError, match=r"^temperature must be above 0 \(got -1\)$"):
        export_onnx(model, tmp_path / "model.onnx", temperature=-1)


def test_networks_that_no_server_can_run(tmp_path: Path) -> None:
    data = prepare(graph(), SMALL, "gcn")
    with pytest.raises(ConfigError) as caught:
        export_onnx(find_model("gcn").build(data, SMALL), tmp_path / "model.onnx")
    assert str(caught.value) == (
        "network must be a HeroFilter, which sees the graph through patches alone "
        "(got GCN); train herofilter or fast-herofilter instead"
    )
    bare = prepare(AWKWARD["no_features"](), SMALL)
    with pytest.raises(ConfigError) as caught:
        serving_inputs(find_model("herofilter").build(bare, SMALL), bare)
    assert str(caught.value) == (
        "network must read features (got one with a learned vector per node, which no other "
        "node has); store its predictions for all nodes instead"
    )


def test_inputs_of_another_graph_or_of_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = trained("patcher=fast")
    with pytest.raises(GraphError, match=r"with 60 nodes \(got 10\); make new patches for it"):
        serving_inputs(model, AWKWARD["plain"]())
    monkeypatch.setattr("herofilter.memory.free_memory", lambda: 1000)
    with pytest.raises(OutOfMemoryError, match="give fewer nodes at a time"):
        serving_inputs(model, data)
