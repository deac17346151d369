"""Read names of models, answer each with the model's peak memory at n and at 2n nodes.

Runs as a process of its own, which forks another for each model: no memory that was freed before
is there to be used again, which would hide what a step needs.
"""

import gc
import json
import os
import resource
import sys
import traceback

import psutil
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import GraphSpec, csbm
from herofilter.nn import NodeClassifier, find_model, register_model
from herofilter.training import prepare, seeded

# past those up to which HeroFilter works with all pairs of nodes
SIZES = (5000, 10_000)
CONFIG = Config().replace(hidden_channels=16)


class AllPairs(NodeClassifier):
    """What no model may be that claims to scale."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(1))

    def reset_parameters(self) -> None:
        torch.nn.init.ones_(self.factor)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        return (data.x @ data.x.t()) @ (self.factor * data.x)


@register_model("all-pairs", paper="", needs="n·n floats", scales=True)
def build_all_pairs(data: Data, config: Config, spec: GraphSpec) -> AllPairs:
    return AllPairs()


def graph(num_nodes: int) -> Data:
    return csbm(num_nodes=num_nodes, num_classes=3, average_degree=10, num_splits=1)


def step(name: str, data: Data) -> None:
    """Build a model and run one forward and one backward pass."""
    # a copy, on which nothing is cached yet
    data = prepare(data.clone(), CONFIG, name)
    with seeded(0):
        model = find_model(name).build(data, CONFIG)
    model(data).logsumexp(1).sum().backward()


def peaks(name: str, graphs: list[Data]) -> list[int]:
    """Return the bytes that a step on each graph takes at its peak; graphs are in rising order."""
    # code that is read from disk at the first step counts as memory too
    step(name, graphs[0])
    found = []
    for data in graphs:
        gc.collect()
        before = psutil.Process().memory_info().rss
        step(name, data)
        found.append(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return found


def answer(name: str, small: Data, graphs: list[Data]) -> str:
    """Return as JSON the peaks in a forked process, or what went wrong there."""
    # so that the fork inherits what is loaded and compiled at the first step
    step(name, small)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result: object = peaks(name, graphs)
        except Exception:
            result = traceback.format_exc()
        with os.fdopen(writer, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    status = os.waitpid(child, 0)[1]
    return told or json.dumps(f"the process that measures {name} ended with status {status}")


def main() -> None:
    torch.set_num_threads(1)
    small, *graphs = (graph(size) for size in (300, *SIZES))
    for line in sys.stdin:
        print(answer(line.strip(), small, graphs), flush=True)


if __name__ == "__main__":
    main()
