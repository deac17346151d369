"""One model's inference over all nodes of one graph, measured in a separate process."""

import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter import Config, HeroFilterError, csbm, find_model, load_dataset, predict_logits
from herofilter.baselines import Polynormer
from herofilter.data.synthetic.power_law import power_law_graph
from herofilter.nn import NodeClassifier
from herofilter.parallel.threads import is_small
from herofilter.reproduce.speed.child import peak_gib
from herofilter.reproduce.speed.scale_work import PATENTS_EDGES, PATENTS_NODES
from herofilter.reproduce.speed.timing import repeated, seconds_of
from herofilter.training import prepare
from herofilter.training.prefetch import logit_chunks
from herofilter.training.prepare import prepare_for
from herofilter.training.seeding import seeded
from herofilter.training.steps import EVAL_BATCH

_CACHE = "HEROFILTER_CACHE"
# names of graphs in this benchmark, and their datasets
DATASETS = {"squirrel": "squirrel", "chameleon": "chameleon", "arxiv": "arxiv-structure"}
PATENTS = "patents"
# seconds that the passes of a model take together at least
LEAST = 1.0
# least seconds of one model per round, where several are interleaved
ROUND_SECONDS = 0.1


def load_graph(name: str) -> Data:
    """Return a graph by its name in this benchmark, or by that of a dataset.

    ``patents`` is a power-law graph of the size of snap-patents.
    """
    if name == PATENTS:
        return power_law_graph(PATENTS_NODES, PATENTS_EDGES)
    return load_dataset(DATASETS.get(name, name))


def settings_of(model: str) -> Config:
    """Return the settings that a model is measured with: 64 hidden channels, two layers.

    HeroFilter's two layers are its stem and one block, and its graph has no directions, as in the
    accuracy tables. It keeps the spectral patcher at any size: a graph that is too large for it is
    refused, instead of being measured with the fast patcher.
    """
    has_stem = model.endswith("herofilter")
    config = Config().replace(
        hidden_channels=64, num_layers=1 if has_stem else 2, directed="symmetrise"
    )
    return config.replace(patcher="spectral") if model == "herofilter" else config


def measure_inference(graph: str, model: str, repetitions: int, budget: float) -> dict[str, Any]:
    """Return the seconds of inference and of the precomputation before it.

    Weights are untrained, as they don't change the time; Polynormer is in its second stage, as
    after training. Every model may use all threads: where the library uses one on a small graph,
    all of them are measured, too, and the faster counts. The precomputation is preparing the graph,
    building the model with its patches, and what the first pass takes beyond the median of the
    later ones, as it computes hops and tokens.
    """
    data, config = load_graph(graph), settings_of(model)
    _warm_up(model, config)
    with _empty_cache():
        started = time.perf_counter()
        network, prepared = _build(data, config, model)
        built = time.perf_counter() - started
    first = seconds_of(lambda: predict_logits(network, prepared))
    found = [
        (repeated(work, repetitions, budget / 2, least=LEAST), threads)
        for threads, work in _variants(network, prepared)
    ]
    times, threads = min(found, key=lambda pair: statistics.median(pair[0]))
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
        "threads": threads,
    }


def measure_interleaved(
    graph: str, models: Sequence[str], rounds: int
) -> dict[str, dict[str, Any]]:
    """Return the seconds of inference of several models, interleaved in one process.

    Noise of the machine then affects all of them alike. In each round a model runs for at least a
    tenth of a second and three passes, of which the first isn't counted, since the model before it
    has filled the caches. As in :func:`measure_inference`, the faster number of threads counts.
    """
    data = load_graph(graph)
    variants = {
        (model, threads): work
        for model in models
        for threads, work in _variants(*_build(data, settings_of(model), model))
    }
    times: dict[tuple[str, int], list[float]] = {variant: [] for variant in variants}
    for _ in range(rounds):
        for variant, work in variants.items():
            times[variant] += repeated(work, 3, least=ROUND_SECONDS)[1:]
    medians = {variant: statistics.median(found) for variant, found in times.items()}
    rows = {}
    for model in models:
        best = min(
            (variant for variant in variants if variant[0] == model),
            key=lambda variant: medians[variant],
        )
        rows[model] = {
            "seconds": medians[best],
            "fastest": min(times[best]),
            "repetitions": len(times[best]),
            "threads": best[1],
        }
    return rows


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Use an empty cache: what an earlier run has cached would make preparing look cheap."""
    before = os.environ.get(_CACHE)
    with tempfile.TemporaryDirectory() as empty:
        os.environ[_CACHE] = empty
        try:
            yield
        finally:
            if before is None:
                del os.environ[_CACHE]
            else:
                os.environ[_CACHE] = before


def _build(data: Data, config: Config, model: str) -> tuple[NodeClassifier, Data]:
    prepared = prepare(data, config, model)
    with seeded(0):
        network = find_model(model).build(prepared, config)
    if isinstance(network, Polynormer):
        # a new one is in its first stage, which has no attention
        network.steps.fill_(network.local_steps + 1)
    return network, prepared


def _variants(network: NodeClassifier, data: Data) -> list[tuple[int, Callable[[], Tensor]]]:
    """Return functions that compute all logits, each with the number of threads it uses."""
    most = torch.get_num_threads()
    alone = is_small(int(data.num_nodes or 0)) and not network.in_parallel

    def with_all_threads() -> Tensor:
        prepared = prepare_for(network, data)
        return torch.cat(list(logit_chunks(network, prepared, None, EVAL_BATCH)))

    variants = [(1 if alone else most, lambda: predict_logits(network, data))]
    return [*variants, (most, with_all_threads)] if alone and most > 1 else variants


def _warm_up(model: str, config: Config) -> None:
    """Load compiled code and start threads by a pass over a tiny graph."""
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
