"""Small graphs with one awkward trait each, for every test that must hold on all of them.

Ten nodes, four features, two or three classes and three masks that aren't empty, unless the
trait says otherwise. Built anew at each call, so a test may change what it gets.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch_geometric.data import Data

RING = [(i, (i + 1) % 10) for i in range(10)]
CHORDS = [(0, 4), (2, 7), (3, 9), (5, 8)]


def _edges(pairs: Iterable[tuple[int, int]], *, both: bool = True) -> Tensor:
    listed = list(pairs)
    if both:
        listed += [(target, source) for source, target in listed]
    return torch.tensor(listed, dtype=torch.long).reshape(-1, 2).t().contiguous()


def _masks(num_nodes: int, labelled: Tensor) -> dict[str, Tensor]:
    part = torch.full((num_nodes,), 3)
    nodes = labelled.nonzero().flatten()
    part[nodes] = torch.tensor([0, 0, 0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 0, 2])[: nodes.numel()]
    return {name: part == i for i, name in enumerate(("train_mask", "val_mask", "test_mask"))}


def _graph(
    edge_index: Tensor,
    num_nodes: int = 10,
    num_classes: int = 3,
    edge_weight: Tensor | None = None,
    y: Tensor | None = None,
) -> Data:
    y = torch.arange(num_nodes) % num_classes if y is None else y
    noise = torch.randn(num_nodes, 4, generator=torch.Generator().manual_seed(7))
    x = noise + torch.nn.functional.one_hot(y.clamp(min=0), 4)
    data = Data(x=x, edge_index=edge_index, y=y, num_nodes=num_nodes, **_masks(num_nodes, y >= 0))
    if edge_weight is not None:
        data.edge_weight = edge_weight
    return data


def plain() -> Data:
    return _graph(_edges(RING + CHORDS))


def directed() -> Data:
    return _graph(_edges(RING + CHORDS, both=False))


def isolated_nodes() -> Data:
    return _graph(_edges([(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6)]))


def self_loops() -> Data:
    return _graph(torch.cat([_edges(RING), torch.tensor([[0, 3, 9], [0, 3, 9]])], dim=1))


def duplicates() -> Data:
    edge_index = _edges(RING + CHORDS)
    return _graph(torch.cat([edge_index, edge_index[:, :9]], dim=1))


def weighted() -> Data:
    weight = torch.linspace(0.1, 2.0, len(RING + CHORDS))
    return _graph(_edges(RING + CHORDS), edge_weight=weight.repeat(2))


def tiny() -> Data:
    """Five nodes: fewer than the members of a usual patch."""
    y = torch.tensor([0, 1, 0, 1, 0])
    return _graph(_edges([(0, 1), (1, 2), (2, 3), (3, 4)]), num_nodes=5, y=y)


def no_features() -> Data:
    data = plain()
    data.x = None
    return data


def no_edges() -> Data:
    return _graph(_edges([]))


def complete() -> Data:
    return _graph(_edges((i, j) for i in range(8) for j in range(i)), num_nodes=8, num_classes=2)


def disconnected() -> Data:
    halves = [(i, (i + 1) % 5) for i in range(5)] + [(5 + i, 5 + (i + 1) % 5) for i in range(5)]
    return _graph(_edges(halves))


def unlabelled() -> Data:
    """Fourteen nodes of which four carry the label -1 and stand in no mask."""
    y = torch.arange(14) % 3
    y[[2, 6, 11, 13]] = -1
    return _graph(_edges([(i, (i + 1) % 14) for i in range(14)]), num_nodes=14, y=y)


def one_class() -> Data:
    """Must be refused: there is nothing to classify. Not part of :data:`AWKWARD`."""
    return _graph(_edges(RING), y=torch.zeros(10, dtype=torch.long))


AWKWARD: dict[str, Callable[[], Data]] = {
    make.__name__: make
    for make in (
        plain,
        directed,
        isolated_nodes,
        self_loops,
        duplicates,
        weighted,
        tiny,
        no_features,
        no_edges,
        complete,
        disconnected,
        unlabelled,
    )
}


def awkward_graphs() -> dict[str, Data]:
    """Return one fresh graph per name."""
    return {name: make() for name, make in AWKWARD.items()}
