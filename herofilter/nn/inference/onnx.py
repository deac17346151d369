"""Export of a network as an ONNX file, for a server without torch and without the graph."""

import importlib
import importlib.util
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from herofilter.errors import ConfigError, MissingExtraError, RunError
from herofilter.files import atomic_path
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.herofilter import HeroFilter
from herofilter.nn.inference.serving import ServedModel, servable

# the oldest operators that torch writes, which most servers can run
OPSET = 18
TOLERANCE = 1e-5
OUTPUT = "probabilities"


def export_onnx(network: NodeClassifier, path: str | Path, temperature: float = 1.0) -> None:
    """Write a network as one ONNX file with a batch axis of any length.

    Its inputs are those that :func:`~herofilter.nn.serving_inputs` returns, its output is
    ``probabilities`` ``[b, C]``. Neither the graph nor any training label goes into the file. Where
    onnxruntime is installed, the file is run before it is moved to ``path``, and must give the same
    probabilities as the network.

    Args:
        network: a HeroFilter that reads features; it is set to evaluation mode.
        path: the file to write.
        temperature: divides the logits, as fitted on validation nodes.
    """
    network = servable(network)
    if not temperature > 0:
        raise ConfigError(f"temperature must be above 0 (got {temperature:g})")
    if not all(map(importlib.util.find_spec, ("onnx", "onnxscript"))):
        raise MissingExtraError("onnx", "exporting a network")
    model = ServedModel(network, temperature).eval()
    inputs = _random_inputs(network, batch=3)
    batch = torch.export.Dim("batch", min=1)
    with atomic_path(Path(path)) as scratch:
        with _quiet():
            torch.onnx.export(
                model,
                f=scratch,
                kwargs=inputs,
                input_names=list(inputs),
                output_names=[OUTPUT],
                opset_version=OPSET,
                dynamo=True,
                external_data=False,
                dynamic_shapes={name: {0: batch} for name in inputs},
                verbose=False,
            )
        if importlib.util.find_spec("onnxruntime"):
            _check(model, scratch, _random_inputs(network, batch=5))


def _random_inputs(network: HeroFilter, batch: int) -> dict[str, Tensor]:
    size = network.patcher.patch_size
    generator = torch.Generator().manual_seed(batch)
    inputs = {
        "tokens_x": torch.randn(batch, size, network.in_channels, generator=generator),
        "scale": torch.rand(batch, size, generator=generator),
    }
    if network.labels is not None:
        classes = network.labels.unknown + 1
        inputs["labels"] = torch.randint(classes, (batch, size), generator=generator)
    if network.num_summaries:
        shape = (batch, network.num_summaries, network.token_channels)
        inputs["summary"] = torch.randn(shape, generator=generator)
    return inputs


@contextmanager
def _quiet() -> Iterator[None]:
    # the exporter logs progress and optional packages, nothing that a user could act on
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


@torch.no_grad()
def _check(model: ServedModel, path: Path, inputs: dict[str, Tensor]) -> None:
    # an optional dependency without types
    onnxruntime: Any = importlib.import_module("onnxruntime")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (served,) = session.run([OUTPUT], {name: value.numpy() for name, value in inputs.items()})
    difference = float((torch.from_numpy(served) - model(**inputs)).abs().max())
    if not difference <= TOLERANCE:
        raise RunError(
            f"the exported file must give the network's probabilities to {TOLERANCE:g} "
            f"(got a difference of {difference:g}), so it wasn't kept; serve the network with torch"
        )
