"""Which columns a model needs: how much worse it gets when one of them is shuffled."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from herofilter.callbacks import Callback, notify
from herofilter.data.features import csr_tensor
from herofilter.data.tables.column_ranges import ColumnRange
from herofilter.errors import ConfigError, GraphError
from herofilter.nn import NodeClassifier
from herofilter.training.loop import predict_logits

MOST_NODES = 5000
# of a normal distribution, for intervals of 95 %
_WIDE = 1.96


@dataclass(frozen=True)
class ColumnImportance:
    """How much worse a model gets when a column is shuffled, each with its 95 % interval.

    Args:
        column: its name.
        loss: by how much the log-loss rises.
        loss_low: the lower end of the interval of that over the measured nodes.
        loss_high: its upper end.
        accuracy: by how much the accuracy falls.
        accuracy_low: the lower end of the interval of that.
        accuracy_high: its upper end.
    """

    column: str
    loss: float
    loss_low: float
    loss_high: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float

    @property
    def matters(self) -> bool:
        """Whether the interval of the log-loss lies above zero."""
        return self.loss_low > 0


def column_importance(
    network: NodeClassifier,
    data: Data,
    nodes: Tensor,
    columns: Sequence[ColumnRange],
    temperature: float = 1.0,
    repeats: int = 5,
    seed: int = 0,
    callback: Callback | None = None,
) -> tuple[ColumnImportance, ...]:
    r"""Return the importance of each column by permutation, the most important first.

    All features of a column are permuted together over all nodes of the graph, so that what
    neighbours have in it is shuffled too. For each measured node the losses of all ``repeats`` are
    averaged; the interval is that of the mean of these averages. Columns that say the same can
    stand in for each other, so that each may look less important than both are.

    Args:
        network: a trained model.
        data: the graph it was built for, with features as they were read, edges as it reads
            them, and labels.
        nodes: the nodes to measure on, such as the test nodes; of more than 5,000 a random choice.
        columns: which features each column consists of.
        temperature: divides the logits.
        repeats: permutations of each column.
        seed: of the permutations.
        callback: takes an event of stage ``column`` after each.

    Example:
        >>> from herofilter.baselines import MLP
        >>> from herofilter.data.tables.column_ranges import column_ranges
        >>> data = Data(x=torch.eye(4)[:, :2], y=torch.tensor([0, 1, 0, 1]), num_nodes=4)
        >>> data.edge_index = torch.empty(2, 0, dtype=torch.long)
        >>> found = column_importance(MLP(2, 4, 2), data, torch.arange(4), column_ranges(None, 2))
        >>> sorted(each.column for each in found)
        ['feature 0', 'feature 1']
    """
    if repeats < 1:
        raise ConfigError(f"repeats must be at least 1 (got {repeats})")
    if not nodes.numel() or bool((data.y[nodes] < 0).any()):
        raise GraphError(
            "importance must be measured on labelled nodes (got "
            f"{'some without a label' if nodes.numel() else 'none'}); name nodes with a label"
        )
    generator = torch.Generator().manual_seed(seed)
    if nodes.numel() > MOST_NODES:
        order = torch.randperm(nodes.numel(), generator=generator)[:MOST_NODES]
        nodes = nodes[order.sort().values]
    loss, hit = _measures(network, data, nodes, temperature)
    shuffled = copy.copy(data)
    found = []
    for number, column in enumerate(columns):
        more_loss, fewer_hits = torch.zeros(2, nodes.numel(), dtype=torch.float64)
        for _ in range(repeats):
            order = torch.randperm(int(data.num_nodes or 0), generator=generator)
            shuffled.x = permuted(data.x, column, order)
            other_loss, other_hit = _measures(network, shuffled, nodes, temperature)
            more_loss += (other_loss - loss) / repeats
            fewer_hits += (hit - other_hit) / repeats
        found.append(ColumnImportance(column.name, *_interval(more_loss), *_interval(fewer_hits)))
        notify(callback, "column", number + 1, len(columns), column.name)
    return tuple(sorted(found, key=lambda each: -each.loss))


def permuted(x: Tensor, column: ColumnRange, order: Tensor) -> Tensor:
    """Return a copy of features, dense or CSR, in which one column has its rows in another order.

    Example:
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> permuted(x, ColumnRange("b", 1, 2), torch.tensor([1, 0])).tolist()
        [[1.0, 4.0], [3.0, 2.0]]
    """
    inside = slice(column.start, column.stop)
    if x.layout != torch.sparse_csr:
        changed = x.clone()
        changed[:, inside] = x[order, inside]
        return changed
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    matrix = sp.csr_array(parts, shape=tuple(x.shape))
    blocks = [
        matrix[:, : column.start],
        matrix[:, inside][order.numpy()],
        matrix[:, column.stop :],
    ]
    joined = sp.hstack(blocks, format="csr")
    joined.sort_indices()
    starts, places = (torch.from_numpy(each).long() for each in (joined.indptr, joined.indices))
    return csr_tensor(starts, places, torch.from_numpy(joined.data), (x.size(0), x.size(1)))


def _measures(
    network: NodeClassifier, data: Data, nodes: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    """Return the loss of each node, and 1 where its prediction is right."""
    logits = predict_logits(network, data, nodes).double() / temperature
    y = data.y[nodes].long()
    return cross_entropy(logits, y, reduction="none"), (logits.argmax(1) == y).double()


def _interval(values: Tensor) -> tuple[float, float, float]:
    """Return the mean of values, and the bounds of its 95 % interval."""
    mean, error = float(values.mean()), 0.0
    if values.numel() > 1:
        error = _WIDE * float(values.std()) / math.sqrt(values.numel())
    return mean, mean - error, mean + error
