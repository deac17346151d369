"""From a NetworkX graph to a predicted class for each node without one, by the node's name.

python examples/networkx_graph.py [people]
"""

import random
import sys

import networkx as nx
import torch

from herofilter import FastPatcher, HeroFilter, TrainConfig, predict_logits, select_split, train
from herofilter.data import from_networkx, random_splits

TEAMS = ("north", "south", "west")


def my_graph(people: int) -> nx.Graph:
    """Stand in for your graph: who writes to whom, with some attributes of each person."""
    rng = random.Random(0)
    graph = nx.planted_partition_graph(3, people // 3, p_in=0.12, p_out=0.02, seed=0)
    for node in graph:
        team = node * 3 // len(graph)
        graph.nodes[node]["age"] = rng.gauss(30 + 8 * team, 8)
        graph.nodes[node]["city"] = rng.choice((TEAMS[team], "elsewhere"))
        # one in six hasn't told us the team
        graph.nodes[node]["team"] = TEAMS[team] if rng.random() < 5 / 6 else None
    return nx.relabel_nodes(graph, {node: f"person-{node}" for node in graph})


def main(people: int = 180) -> None:
    torch.manual_seed(0)
    graph = from_networkx(my_graph(people), label="team")
    data = graph.data
    print(f"{data.num_nodes} nodes, {data.num_features} features, classes: {graph.classes}")
    data.train_mask, data.val_mask, data.test_mask = random_splits(data.y, num_splits=1)
    data = select_split(data, 0)

    model = HeroFilter(data.num_features, len(graph.classes), FastPatcher(patch_size=8)(data))
    result = train(model, data, TrainConfig(epochs=60))
    print(f"test accuracy {result.test.accuracy:.3f}")

    predicted = predict_logits(model, data).argmax(dim=1)
    unknown = (data.y < 0).nonzero().view(-1).tolist()
    for node in unknown[::6]:
        print(f"{graph.ids[node]}: {graph.classes[predicted[node]]}")
    node = graph.position("person-7")
    print(f"person-7 is row {node}: {graph.classes[predicted[node]]}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
