"""Models as the trainer builds them, and the oracles that baselines are compared with."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.nn import find_model
from herofilter.training import prepare, seeded
from tests.awkward import AWKWARD

SMALL = Config().replace(hidden_channels=8, epochs=3)
# their directions, loops, duplicates and weights tell one formula from another
GRAPHS = ["plain", "directed", "isolated_nodes", "self_loops", "duplicates", "weighted", "no_edges"]


def build(name: str, data: Data, **settings: Any) -> tuple[Any, Data]:
    """Return a registered model for evaluation, and the graph as it was prepared."""
    config = SMALL.replace(**settings)
    data = prepare(data, config, name)
    with seeded(0):
        return find_model(name).build(data, config).eval(), data


def undirected(name: str) -> Data:
    """Return an awkward graph in which both directions of an edge are equally many."""
    data = AWKWARD[name]()
    if name in ("directed", "duplicates"):
        data.edge_index = torch.cat([data.edge_index, data.edge_index.flip(0)], dim=1)
    return data


def vary(parameter: nn.Parameter) -> None:
    """Set weights that start from constants to distinct values of both signs."""
    parameter.data = torch.sin(3 * torch.arange(parameter.numel()) + 4.0)


def assert_same(found: Tensor, expected: Tensor, model: nn.Module) -> None:
    """Assert equal outputs, and equal gradients of all parameters."""
    torch.testing.assert_close(found, expected)
    upstream = torch.randn(found.shape, generator=torch.Generator().manual_seed(9))
    gradients = [
        torch.autograd.grad((out * upstream).sum(), list(model.parameters()), retain_graph=True)
        for out in (found, expected)
    ]
    # sums of many terms in another order
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def joined_state(parts: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """Return the weights of layers under the names that another model has for these layers."""
    return {
        f"{name}.{key}": value
        for name, part in parts.items()
        for key, value in part.state_dict().items()
    }


def output_of(layer: nn.Module, run: Callable[[], object]) -> Tensor:
    """Return the output of a layer inside a model while ``run`` runs the model."""
    outputs: list[Tensor] = []
    handle = layer.register_forward_hook(lambda module, args, out: outputs.append(out))
    run()
    handle.remove()
    return outputs[0]


def laplacian(data: Data, loops: bool = False) -> Tensor:
    """Return the dense normalised Laplacian of an undirected graph, from its edges one by one."""
    n = int(data.num_nodes or 0)
    matrix = torch.zeros(n, n, dtype=torch.float64)
    weight = data.get("edge_weight")
    for number, (source, target) in enumerate(data.edge_index.t().tolist()):
        if source != target:
            matrix[target, source] += 1.0 if weight is None else float(weight[number])
    if loops:
        matrix += torch.eye(n)
    degree = matrix.sum(1)
    scale = torch.where(degree > 0, degree.clamp(min=1e-9).rsqrt(), 0.0)
    return torch.eye(n) - scale.unsqueeze(1) * matrix * scale


def filtered(model: Any, data: Data, matrix: Tensor) -> Tensor:
    """Return the model's response applied to its MLP by the eigenvectors of the Laplacian."""
    values, vectors = torch.linalg.eigh(matrix)
    response = model.response(values)
    return (vectors * response) @ vectors.t() @ model.mlp(data).double()
