"""Trained filters of several models as curves over the Laplacian's eigenvalues."""

import itertools
from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn
from torch_geometric.nn import ChebConv

from herofilter.baselines import ChebNet, ChebNetII
from herofilter.config import Config
from herofilter.errors import RunError
from herofilter.nn import HeroFilter, NodeClassifier
from herofilter.nn.stem import FeatureLinear
from herofilter.patchers import LearnedPatcher
from herofilter.reproduce.studies.graphs import LEVELS, blocks, kept_graph
from herofilter.reproduce.studies.study import Finished, Record, Task
from herofilter.reproduce.studies.training_task import QUICK
from herofilter.spectral import normalised_adjacency
from herofilter.training import prepare
from herofilter.training.recipe import train_split
from herofilter.training.split_metrics import split_metrics

POINTS = 41
ORDER = 10
MODELS = {"chebnet": "ChebNet", "chebnetii": "ChebNetII", "herofilter": "HeroFilter"}
STAGE = "response"
# Laplacian eigenvalues that count as low, middle and high frequencies
BANDS = {"low": (0.0, 0.4), "middle": (0.8, 1.2), "high": (1.6, 2.0)}


@torch.no_grad()
def response_of(model: NodeClassifier, eigenvalues: Tensor) -> Tensor:
    r"""Return :math:`|g(\lambda)|` of a trained model at the Laplacian's eigenvalues.

    ChebNet has a filter per pair of channels and layer. Its response is the Frobenius norm of
    :math:`\prod_l \sum_k T_k(\lambda - 1) \mathbf{W}^{(l)}_k`: what the layers do to a signal of
    frequency λ without their activations. HeroFilter's is the mean over its learned filters.

    Shapes:
        - eigenvalues: ``[f]``, within [0, 2]; output: ``[f]``
    """
    if isinstance(model, ChebNetII):
        return model.response(eigenvalues).abs()
    if isinstance(model, ChebNet):
        return _chebnet(model, eigenvalues)
    if isinstance(model, HeroFilter) and isinstance(model.patcher, LearnedPatcher):
        # the patcher's λ is that of Ã = I - L, ascending
        points, curves = model.patcher.curves()
        responses = torch.stack(list(curves.values())).abs().mean(0)
        place = torch.searchsorted(points, (1 - eigenvalues).contiguous())
        right = place.clamp(1, points.numel() - 1)
        share = (1 - eigenvalues - points[right - 1]) / (points[right] - points[right - 1])
        found: Tensor = torch.lerp(responses[right - 1], responses[right], share.clamp(0, 1))
        return found
    raise RunError(f"the model must have a filter (got {type(model).__name__})")


def _chebnet(model: ChebNet, eigenvalues: Tensor) -> Tensor:
    # T_k(cos a) = cos(k·a): [f, K + 1]
    angle = (eigenvalues - 1).clamp(-1, 1).arccos().unsqueeze(1)
    polynomials = (torch.arange(model.hops + 1) * angle).cos()
    total: Tensor = torch.ones(1, 1, 1)
    for number, conv in enumerate(cast(Iterable[ChebConv], model.convs)):
        # [K + 1, in, out]
        weights = torch.stack([_map(lin) for lin in conv.lins])
        layer = torch.einsum("fk,kio->fio", polynomials, weights)
        total = layer if number == 0 else total @ layer
    found: Tensor = total.flatten(1).norm(dim=1)
    return found


def _map(lin: nn.Module) -> Tensor:
    weight = cast(Tensor, lin.weight)
    return weight if isinstance(lin, FeatureLinear) else weight.t()


def measure_response(task: Task) -> Record:
    """Train the task's model and return its filter on a grid and its mean over the spectrum."""
    data = kept_graph(task.graph)
    prepared = prepare(data, task.config, task.model)
    model, result = train_split(prepared, task.model, task.config, task.split)
    if result.interrupted:
        raise KeyboardInterrupt
    grid = torch.linspace(0, 2, POINTS)
    response = response_of(model, grid)
    matrix = normalised_adjacency(data.edge_index, int(data.num_nodes or 0), self_loops=False)
    spectrum = torch.linalg.eigvalsh(torch.eye(matrix.shape[0]) - torch.tensor(matrix.toarray()))
    on_graph = response_of(model, spectrum.float().clamp(0, 2))
    largest = float(torch.cat([response, on_graph]).max().clamp(min=1e-12))
    bands = {
        name: float(response[(grid >= low) & (grid <= high)].mean()) / largest
        for name, (low, high) in BANDS.items()
    }
    return {
        "grid": grid.tolist(),
        "response": response.tolist(),
        "mean": float(on_graph.mean()) / largest,
        "bands": bands,
        **{key: split_metrics(result, 0.0)[key] for key in ("test_accuracy", "val_accuracy")},
    }


def response_tasks(quick: bool, seeds: int = 5) -> list[Task]:
    """Return one training per level, model and seed of the graph."""
    levels = (0.1, 0.5, 0.9) if quick else LEVELS
    nodes, draws = (60, 2) if quick else (500, seeds)
    config = Config().replace(hops=ORDER, patience=30)
    if quick:
        config = config.replace(**QUICK)
    return [
        Task(blocks(level, nodes, seed), model, config, 0, measure_response, STAGE, model)
        for model, level, seed in itertools.product(MODELS, levels, range(draws))
    ]


def level_of(finished: Finished) -> float:
    """Return the heterophily of a task's synthetic graph."""
    return float(finished.task.graph.split(":")[1])
