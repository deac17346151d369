"""Which columns mattered for a prediction: those of the node itself and those of other nodes."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.checks import MASKS
from herofilter.data.tables.column_ranges import ColumnRange
from herofilter.errors import ConfigError, GraphError
from herofilter.nn import NodeClassifier
from herofilter.nn.classifier import select
from herofilter.predict.changed_rows import ChangedRows, changed_rows
from herofilter.training.predictor import Predictor
from herofilter.training.prepare import prepare_for

MOST_CANDIDATES = 64
_ROWS = 2**14


@dataclass(frozen=True)
class ColumnEffect:
    """What one column of one node adds to a prediction.

    Args:
        column: its name.
        change: by how much the log-probability of the predicted class falls when the column has
            the mean of the training nodes instead; negative if it speaks against the class.
    """

    column: str
    change: float


@dataclass(frozen=True)
class NodeEffect:
    """What another node adds to a prediction.

    Args:
        node: the other node.
        change: as of a column, with all columns of that node replaced together.
        columns: its columns one by one, the strongest first.
    """

    node: int
    change: float
    columns: tuple[ColumnEffect, ...]


@dataclass(frozen=True)
class ColumnExplanation:
    """A prediction and the columns that it rests on.

    Args:
        node: the node that was classified.
        predicted: its class.
        probability: of that class.
        columns: the node's own columns, the strongest first.
        others: the other nodes with the strongest effects.
        num_columns: how many columns there are; ``columns`` has fewer where each would take a
            pass over a large graph.
        num_others: how many other nodes were tried.
    """

    node: int
    predicted: int
    probability: float
    columns: tuple[ColumnEffect, ...]
    others: tuple[NodeEffect, ...]
    num_columns: int
    num_others: int


class ColumnExplainer:
    r"""Leave-one-column-out for single predictions of any trained model.

    The features of a column are replaced by their means over the training nodes (for categories
    the share of each), at the node itself or at one other node, and nothing else changes. With
    :math:`\mathbf{X}'` for the features after that, the effect is

    .. math::
        \log p(\hat y \mid \mathbf{X}) - \log p(\hat y \mid \mathbf{X}').

    HeroFilter, boosters and models that ignore the graph compute all replacements together; others
    need a pass over the graph for each, so that on a large graph only the columns are tried in
    which the node differs most from the mean, and only the neighbours with the largest weights.

    Args:
        network: a trained model.
        data: the graph it was built for, with features as they were read and edges as it reads
            them; means are those of ``train_mask``, or of all nodes without one.
        columns: which features each column consists of.
        temperature: divides the logits, as fitted on validation nodes.

    Example:
        >>> from herofilter.data import csbm, select_split
        >>> from herofilter.data.tables.column_ranges import column_ranges
        >>> from herofilter.nn import HeroFilter
        >>> from herofilter.patchers import FastPatcher
        >>> data = select_split(csbm(num_nodes=60, num_classes=3), 0)
        >>> network = HeroFilter(32, 3, patcher=FastPatcher(patch_size=4)(data))
        >>> explainer = ColumnExplainer(network, data, column_ranges(None, 32))
        >>> found = explainer.explain(7)
        >>> found.columns[0].column.startswith("feature "), len(found.others) <= 3
        (True, True)
    """

    def __init__(
        self,
        network: NodeClassifier,
        data: Data,
        columns: Sequence[ColumnRange],
        temperature: float = 1.0,
    ) -> None:
        if data.x is None or data.get("featureless", False):
            raise GraphError(
                "the graph must have features to explain a prediction by columns (got none); "
                "give the table of nodes some columns"
            )
        if not columns or columns[-1].stop != data.x.size(1):
            got = columns[-1].stop if columns else 0
            raise GraphError(
                f"columns must cover the {data.x.size(1)} features of the graph (got {got}); "
                "take them from the encoder that made the features"
            )
        if not temperature > 0:
            raise ConfigError(f"temperature must be above 0 (got {temperature:g})")
        self.network, self.data, self.columns = network.eval(), data, tuple(columns)
        self.temperature = temperature
        self.ready = prepare_for(network, data)
        self.mean = training_mean(data)

    def explain(self, node: int, top: int = 3) -> ColumnExplanation:
        """Return the effects of a node's columns, and of those of ``top`` other nodes."""
        n = int(self.data.num_nodes or 0)
        if not 0 <= node < n:
            raise GraphError(f"node must be from 0 to {n - 1} (got {node})")
        if top < 0:
            raise ConfigError(f"top must be at least 0 (got {top})")
        variants = changed_rows(self.network, self.data, self.ready, node)
        candidates = variants.others(min(MOST_CANDIDATES, variants.most // 4)) if top else []
        # at least half of what can be computed is for the node itself
        own = variants.most if not candidates else variants.most // 2
        chosen = self._most_unusual(node, own)
        row = self._row(node)
        rows = torch.stack([row, *(self._without(row, column) for column in chosen)])
        logits = self._log_probabilities(variants, torch.full((len(rows),), node), rows)
        predicted = int(logits[0].argmax())
        full = float(logits[0, predicted])
        effects = zip(chosen, (full - logits[1:, predicted]).tolist(), strict=True)
        return ColumnExplanation(
            node=node,
            predicted=predicted,
            probability=float(logits[0, predicted].exp()),
            columns=_strongest(ColumnEffect(column.name, change) for column, change in effects),
            others=self._others(variants, candidates, predicted, full, top),
            num_columns=len(self.columns),
            num_others=len(candidates),
        )

    def _others(
        self, variants: ChangedRows, candidates: list[int], predicted: int, full: float, top: int
    ) -> tuple[NodeEffect, ...]:
        if not candidates:
            return ()
        average = self.mean.expand(len(candidates), -1)
        logits = self._log_probabilities(variants, torch.tensor(candidates), average)
        changes = dict(zip(candidates, (full - logits[:, predicted]).tolist(), strict=True))
        strongest = sorted(candidates, key=lambda node: -abs(changes[node]))[:top]
        each = max(1, variants.most // 4 // top)
        tried = [(node, column) for node in strongest for column in self._most_unusual(node, each)]
        rows = torch.stack([self._without(self._row(node), column) for node, column in tried])
        nodes = torch.tensor([node for node, _ in tried])
        logits = self._log_probabilities(variants, nodes, rows)
        effects: dict[int, list[ColumnEffect]] = {node: [] for node in strongest}
        for (node, column), change in zip(
            tried, (full - logits[:, predicted]).tolist(), strict=True
        ):
            effects[node].append(ColumnEffect(column.name, change))
        return tuple(
            NodeEffect(node, changes[node], _strongest(effects[node])) for node in strongest
        )

    def _log_probabilities(self, variants: ChangedRows, changed: Tensor, rows: Tensor) -> Tensor:
        return (variants.logits(changed, rows) / self.temperature).log_softmax(1)

    def _row(self, node: int) -> Tensor:
        """Return the features of a node as they were read: ``[f]``."""
        row = select(self.data.x, torch.tensor([node]))
        return (row.to_dense() if row.layout == torch.sparse_csr else row)[0].float()

    def _without(self, row: Tensor, column: ColumnRange) -> Tensor:
        """Return a row that has the mean of the training nodes in one column."""
        changed = row.clone()
        changed[column.start : column.stop] = self.mean[column.start : column.stop]
        return changed

    def _most_unusual(self, node: int, most: int) -> list[ColumnRange]:
        """Return the columns in which a node differs most from the mean, in their order."""
        if len(self.columns) <= most:
            return list(self.columns)
        distance = (self._row(node) - self.mean).square()
        far = [-float(distance[column.start : column.stop].sum()) for column in self.columns]
        kept = sorted(range(len(far)), key=far.__getitem__)[:most]
        return [self.columns[number] for number in sorted(kept)]


def graph_as_read(predictor: Predictor) -> Data:
    """Return a model's graph with the edges that its network reads and features as in the table.

    Labels and masks are those of the graph as it was given.
    """
    graph = copy.copy(predictor.prepared)
    for name in ("x", "y", *MASKS):
        value = predictor.data.get(name)
        if value is not None:
            graph[name] = value
    return graph


def training_mean(data: Data) -> Tensor:
    """Return the mean features of the training nodes, or of all without a split: ``[f]``.

    Example:
        >>> data = Data(x=torch.tensor([[1.0], [3.0], [8.0]]))
        >>> data.train_mask = torch.tensor([True, True, False])
        >>> training_mean(data)
        tensor([2.])
    """
    mask = data.get("train_mask")
    one = mask is not None and mask.dim() == 1 and bool(mask.any())
    nodes = mask.nonzero().flatten() if one else torch.arange(int(data.num_nodes or 0))
    total = torch.zeros(data.x.size(1), dtype=torch.float64)
    for part in torch.split(nodes, _ROWS):
        rows = select(data.x, part)
        total += (rows.to_dense() if rows.layout == torch.sparse_csr else rows).double().sum(0)
    return (total / nodes.numel()).float()


def _strongest(effects: Iterable[ColumnEffect]) -> tuple[ColumnEffect, ...]:
    return tuple(sorted(effects, key=lambda effect: -abs(effect.change)))
