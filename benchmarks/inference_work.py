"""One model's inference over all nodes of one graph, measured in a process of its own."""

import math
import os
import statistics
import tempfile
import time
from typing import Any

import torch
from torch_geometric.data import Data

from benchmarks.child import peak_gib
from benchmarks.scale_work import PATENTS_EDGES, PATENTS_NODES
from benchmarks.timing import repeated, seconds_of
from herofilter import Config, HeroFilterError, csbm, find_model, load_dataset, predict_logits
from herofilter.data.power_law import power_law_graph
from herofilter.training import prepare

# what a graph is called here, and the dataset that it is
DATASETS = {"squirrel": "squirrel", "chameleon": "chameleon", "arxiv": "arxiv-structure"}
PATENTS = "patents"


def load_graph(name: str) -> Data:
    """Return a graph by its name here, or by that of a dataset.

    ``patents`` is a power-law graph of the size of snap-patents.
    """
    if name == PATENTS:
        return power_law_graph(PATENTS_NODES, PATENTS_EDGES)
    return load_dataset(DATASETS.get(name, name))


def settings_of(model: str) -> Config:
    """Return the settings that a model is measured with: 64 hidden channels, two layers.

    Those of HeroFilter are its stem and one block, as in the tables of accuracy. It keeps its
    spectral patcher whatever the size, so that a graph too large for it is refused and doesn't get
    the fast patcher under another name.
    """
    own = model.endswith("herofilter")
    config = Config().replace(hidden_channels=64, num_layers=1 if own else 2)
    return config.replace(patcher="spectral") if model == "herofilter" else config


def measure_inference(graph: str, model: str, repetitions: int, budget: float) -> dict[str, Any]:
    """Return the seconds of inference and of what is computed once before it.

    Weights are untrained: they don't change the time. What comes once is preparing the graph,
    building the model (its patches are made then), and the surplus of the first pass over the
    median of the later ones (hops and tokens are made then).
    """
    data, config = load_graph(graph), settings_of(model)
    _warm_up(model, config)
    with tempfile.TemporaryDirectory() as empty:
        # a spectrum that an earlier run has left would make the precomputation look cheap
        os.environ["HEROFILTER_CACHE"] = empty
        started = time.perf_counter()
        prepared = prepare(data, config, model)
        torch.manual_seed(0)
        network = find_model(model).build(prepared, config)
        built = time.perf_counter() - started
    first = seconds_of(lambda: predict_logits(network, prepared))
    times = repeated(lambda: predict_logits(network, prepared), repetitions, budget)
    median = statistics.median(times)
    return {
        "seconds": median,
        "fastest": min(times),
        "repetitions": len(times),
        "precompute_seconds": built + max(0.0, first - median),
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "peak_gib": peak_gib(),
        "nodes": int(data.num_nodes or 0),
        "edges": int(data.edge_index.size(1)),
        "threads": torch.get_num_threads(),
    }


def _warm_up(model: str, config: Config) -> None:
    """Load compiled code and start threads on a graph that doesn't matter."""
    tiny = csbm(num_nodes=60, num_classes=3, num_features=8)
    try:
        prepared = prepare(tiny, config, model)
        predict_logits(find_model(model).build(prepared, config), prepared)
    except HeroFilterError:
        # a model that refuses this graph may still take the real one
        return


def ratio(seconds: float | None, fast: float | None) -> float | None:
    """Return how many times as long as ``fast`` something takes, if both are known."""
    if seconds is None or fast is None or not math.isfinite(seconds) or fast <= 0:
        return None
    return seconds / fast
