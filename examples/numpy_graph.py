"""From your numpy arrays to an accuracy with its standard deviation over splits.

python examples/numpy_graph.py [nodes]
"""

import sys

import numpy as np
import torch
from torch_geometric.data import Data

from herofilter import Config, check_graph, train_splits
from herofilter.data import random_splits


def my_arrays(num_nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stand in for your data: edges [m, 2], features [n, f], labels [n] with -1 for unknown."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, num_nodes)
    # each node links to nodes of the next class only: as heterophilous as a graph can be
    edges = [
        (node, other)
        for node in range(num_nodes)
        for other in rng.choice(np.flatnonzero(labels == (labels[node] + 1) % 3), 3)
    ]
    features = np.eye(3)[labels] + rng.normal(0, 1.2, (num_nodes, 3))
    labels[rng.choice(num_nodes, num_nodes // 20, replace=False)] = -1
    return np.array(edges), features, labels


def main(num_nodes: int = 300) -> None:
    edges, features, labels = my_arrays(num_nodes)
    data = Data(
        x=torch.from_numpy(features).float(),
        edge_index=torch.from_numpy(edges).t().contiguous(),
        y=torch.from_numpy(labels),
    )
    data.train_mask, data.val_mask, data.test_mask = random_splits(data.y, num_splits=3)
    check_graph(data)  # says in one sentence what is wrong, if anything is
    config = Config().replace(patch_size=8, epochs=80)
    for model in ("mlp", "herofilter"):
        summary = train_splits(data, model, config, splits=range(3), graph="mine")
        test = summary["test_accuracy"]
        print(f"{model}: test accuracy {test['mean']:.3f} ± {test['std']:.3f} over 3 splits")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
