"""Export a trained model to ONNX and serve it without torch or the graph.

Needs the optional dependencies: pip install "herofilter[onnx]"

    python examples/onnx_serving.py [epochs]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from herofilter import FastPatcher, HeroFilter, TrainConfig, csbm, predict_logits, train
from herofilter.data import select_split
from herofilter.nn import export_onnx, serving_inputs


def batch_job(folder: Path, epochs: int) -> torch.Tensor:
    """Train, export, and store what the server needs of each node; return all predictions."""
    torch.manual_seed(0)
    data = select_split(csbm(num_nodes=400, num_classes=4, heterophily=0.3), 0)
    model = HeroFilter(data.num_features, 4, patcher=FastPatcher(patch_size=8)(data))
    result = train(model, data, TrainConfig(epochs=epochs))
    print(f"test accuracy {result.test.accuracy:.3f}")
    export_onnx(model, folder / "model.onnx")
    np.savez(folder / "inputs.npz", **serving_inputs(model, data))
    return predict_logits(model, data).softmax(dim=1)


def server(folder: Path, nodes: list[int]) -> np.ndarray:
    """Answer one request with numpy and onnxruntime alone."""
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    with np.load(folder / "inputs.npz") as stored:
        inputs = {name: stored[name][nodes] for name in stored.files}
    print("inputs:", ", ".join(f"{name} {array.shape}" for name, array in inputs.items()))
    (probabilities,) = session.run(["probabilities"], inputs)
    return probabilities


def main(epochs: int = 40) -> None:
    nodes = [0, 1, 2]
    with tempfile.TemporaryDirectory() as name:
        expected = batch_job(Path(name), epochs)[nodes].numpy()
        served = server(Path(name), nodes)
    for node, row in zip(nodes, served, strict=True):
        print(f"node {node}: class {row.argmax()} with probability {row.max():.3f}")
    print(f"agrees with torch: {np.allclose(served, expected, atol=1e-5)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
