"""Load a graph, choose patches in two ways, train, and look at the accuracy.

python examples/quickstart.py            a synthetic graph of 1000 nodes
python examples/quickstart.py texas      any name of `herofilter list`, or your .npz file
"""

import sys

import torch

from herofilter import (
    FastPatcher,
    HeroFilter,
    SpectralPatcher,
    TrainConfig,
    load_dataset,
    predict_logits,
    train,
)


def main(name: str = "csbm") -> None:
    torch.manual_seed(0)  # for the initial weights; training has its seed in TrainConfig
    data = load_dataset(name, split=0)
    num_classes = int(data.y.max()) + 1
    print(f"{name}: {data.num_nodes} nodes, {data.num_edges} edges, {num_classes} classes")
    patchers = {
        "fast": FastPatcher(patch_size=8)(data),  # ranked once, by personalised PageRank
        "spectral": SpectralPatcher(data, patch_size=8),  # ranked by a filter that learns
    }
    for kind, patcher in patchers.items():
        model = HeroFilter(data.num_features, num_classes, patcher=patcher)
        result = train(model, data, TrainConfig(epochs=40))
        print(
            f"{kind} patches: test accuracy {result.test.accuracy:.3f} "
            f"(best epoch {result.best_epoch}, {result.seconds:.1f} s)"
        )
        # the trained model classifies any node of the graph
        predicted = predict_logits(model, data).argmax(dim=1)
        print(f"  predicted classes of the first nodes: {predicted[:5].tolist()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
