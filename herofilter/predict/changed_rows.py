"""A node's prediction when the features of single nodes are others than they are."""

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.features import csr_tensor
from herofilter.nn import HeroFilter, NodeClassifier
from herofilter.nn.classifier import select
from herofilter.parallel.threads import is_small, one_thread
from herofilter.training.prepare import prepare_for

if TYPE_CHECKING:
    from herofilter.baselines.neighbour_booster import NeighbourBooster

# of features, or of tokens, that variants may take at once
_BYTES = 2**26
_MOST_VARIANTS, _VARIANT_BYTES, _FEWEST_VARIANTS = 2**16, 2**28, 64
# nodes and edges that all passes over a graph may read together, and how many passes that gives
_WORK, _FEWEST_PASSES, _MOST_PASSES = 3 * 10**7, 24, 512
_EMPTY = torch.empty(2, 0, dtype=torch.long)
# compiled sums work on so many columns at a time
_LANES = 8


class ChangedRows(ABC):
    """What a network says of one node when features of single nodes change.

    Args:
        network: trained, in evaluation mode.
        data: the graph, features as they were read, edges as the network reads them.
        ready: the same with features as the network was trained on.
        node: the node that is classified.
    """

    def __init__(self, network: NodeClassifier, data: Data, ready: Data, node: int) -> None:
        self.network, self.data, self.ready, self.node = network, data, ready, node

    @property
    def most(self) -> int:
        """How many variants can be computed in reasonable time and memory."""
        fit = _VARIANT_BYTES // (4 * max(1, int(self.data.x.size(1))))
        return max(_FEWEST_VARIANTS, min(_MOST_VARIANTS, fit))

    @abstractmethod
    def others(self, most: int) -> list[int]:
        """Return other nodes that the prediction may rest on, likely ones first."""

    @abstractmethod
    def _logits(self, changed: Tensor, rows: Tensor) -> Tensor:
        """Return logits ``[k, C]`` for rows that are scaled as in training."""

    @torch.no_grad()
    def logits(self, changed: Tensor, rows: Tensor) -> Tensor:
        """Return the node's logits when node ``changed[i]`` has the features ``rows[i]``.

        Shapes:
            - changed: ``[k]``; rows: ``[k, f]``, as they would be read; output: ``[k, C]``
        """
        size = max(1, _BYTES // (4 * max(1, rows.size(1))))
        parts = zip(torch.split(changed, size), torch.split(rows, size), strict=True)
        with one_thread(is_small(int(self.data.num_nodes or 0))):
            found = [self._logits(nodes, self._scaled(part)) for nodes, part in parts]
        return torch.cat(found).double()

    def _scaled(self, rows: Tensor) -> Tensor:
        x: Tensor = prepare_for(self.network, Data(x=rows, edge_index=_EMPTY)).x
        return x.to_dense() if x.layout == torch.sparse_csr else x


class ChangedOwnRow(ChangedRows):
    """For a model that ignores the graph: the changed rows are a table of nodes to classify."""

    def others(self, most: int) -> list[int]:
        return []

    def _logits(self, changed: Tensor, rows: Tensor) -> Tensor:
        table = copy.copy(self.ready)
        table.x, table.edge_index, table.num_nodes = rows, _EMPTY, len(rows)
        logits: Tensor = self.network(table)
        return logits


class ChangedTokens(ChangedRows):
    r"""For HeroFilter: only the tokens that show a changed node are computed again.

    With :math:`\delta` for the change of a node's hidden vector, its tokens change by their score
    times :math:`\delta`, and the summary of a filter by :math:`R_{vu} \delta`, since it is the sum
    :math:`\sum_u R_{vu} \mathbf{h}_u`. The entries :math:`R_{vu}` are what the summaries give for
    unit vectors.
    """

    network: HeroFilter

    def __init__(self, network: HeroFilter, data: Data, ready: Data, node: int) -> None:
        super().__init__(network, data, ready, node)
        rows = torch.tensor([node])
        # a single node is a single chunk; [p', 1, h]
        (self.tokens,) = network.token_chunks(ready, rows)
        patches = network.patches(rows)
        self.members, self.scale = patches.index[0], network.score_scale(patches)[0]

    def others(self, most: int) -> list[int]:
        members = self.members[(self.members >= 0) & (self.members != self.node)].tolist()
        if self.network.summariser is not None:
            members += neighbours(self.data, self.node)
        # each once, in order
        return list(dict.fromkeys(members))[:most]

    def _logits(self, changed: Tensor, rows: Tensor) -> Tensor:
        before = self.network.hidden(select(self.ready.x, changed))
        # [k, h]
        step = self.network.hidden(rows) - before
        weight = self._weights(changed)
        size = max(1, _BYTES // (4 * self.tokens.size(0) * self.tokens.size(2)))
        found = []
        parts = zip(torch.split(step, size), torch.split(weight, size, dim=1), strict=True)
        for steps, weights in parts:
            # [p', k, h]
            found.append(self.network.mix(self.tokens + weights.unsqueeze(-1) * steps))
        return torch.cat(found)

    def _weights(self, changed: Tensor) -> Tensor:
        """Return by how much of its change a node changes each token: ``[p', k]``."""
        weight = self.tokens.new_zeros(self.tokens.size(0), changed.numel())
        shown = self.members.unsqueeze(1) == changed
        weight[: self.members.numel()] = shown * self.scale.unsqueeze(1)
        summariser = self.network.summariser
        if summariser is not None:
            nodes, place = torch.unique(changed, return_inverse=True)
            width = -(-nodes.numel() // _LANES) * _LANES
            units = self.tokens.new_zeros(int(self.ready.num_nodes or 0), width)
            units[nodes, torch.arange(nodes.numel())] = 1
            # [s, 1, width]
            entries = summariser.summarise(units, torch.tensor([self.node]))[:, 0]
            first = self.members.numel()
            weight[first : first + entries.size(0)] = entries[:, place]
        return weight


class ChangedMeans(ChangedRows):
    """For boosted trees on means over neighbours: only the row of the node is computed again."""

    network: "NeighbourBooster"

    def others(self, most: int) -> list[int]:
        return neighbours(self.data, self.node)[:most]

    def _logits(self, changed: Tensor, rows: Tensor) -> Tensor:
        table = self.network.changed_rows(self.ready, self.node, changed, rows)
        logits: Tensor = self.network.trees(table)
        return logits


class ChangedGraph(ChangedRows):
    """For any other model: a pass over the graph for each change.

    A model that says how far it reads gets only the part of the graph that it reads, with one more
    hop, so that all degrees are right.
    """

    def __init__(self, network: NodeClassifier, data: Data, ready: Data, node: int) -> None:
        super().__init__(network, data, ready, node)
        n = int(data.num_nodes or 0)
        self.part, self.place = ready, torch.arange(n)
        if network.reach is not None:
            near = nodes_within(ready.edge_index, n, node, network.reach + 1)
            # otherwise cutting the part out would take longer than it saves
            if 2 * near.numel() < n:
                self.part = subgraph(ready, near)
                self.place[near] = torch.arange(near.numel())

    @property
    def most(self) -> int:
        if not self.network.full_batch:
            return _MOST_PASSES
        size = int(self.part.num_nodes or 0) + int(self.part.edge_index.size(1))
        return max(_FEWEST_PASSES, min(_MOST_PASSES, _WORK // max(size, 1)))

    def others(self, most: int) -> list[int]:
        return neighbours(self.data, self.node)[:most]

    def _logits(self, changed: Tensor, rows: Tensor) -> Tensor:
        asked, found = self.place[[self.node]], []
        variant = copy.copy(self.part)
        for place, row in zip(self.place[changed].tolist(), rows, strict=True):
            variant.x = with_row(self.part.x, place, row)
            found.append(self.network(variant, asked))
        return torch.cat(found)


def changed_rows(network: NodeClassifier, data: Data, ready: Data, node: int) -> ChangedRows:
    """Return the quickest way to classify a node of a graph whose features change."""
    if isinstance(network, HeroFilter):
        return ChangedTokens(network, data, ready, node)
    if network.boosted:
        # not imported to explain anything else
        from herofilter.baselines.neighbour_booster import NeighbourBooster

        if isinstance(network, NeighbourBooster):
            return ChangedMeans(network, data, ready, node)
    kind = ChangedOwnRow if network.ignores_graph else ChangedGraph
    return kind(network, data, ready, node)


def neighbours(data: Data, node: int) -> list[int]:
    """Return the nodes that share an edge with a node, those with the largest weights first.

    Example:
        >>> data = Data(edge_index=torch.tensor([[0, 2, 1], [1, 1, 1]]), num_nodes=3)
        >>> neighbours(data, 1)
        [0, 2]
    """
    source, target = data.edge_index
    touches = (source == node) | (target == node)
    ends = torch.where(source == node, target, source)[touches]
    weight = data.get("edge_weight")
    weight = torch.ones(ends.numel()) if weight is None else weight[touches].float()
    nodes, place = torch.unique(ends, return_inverse=True)
    total = torch.zeros(nodes.numel()).index_add_(0, place, weight)
    order = total.argsort(descending=True, stable=True)
    return [other for other in nodes[order].tolist() if other != node]


def nodes_within(edge_index: Tensor, num_nodes: int, node: int, hops: int) -> Tensor:
    """Return the nodes at most so many edges away, whatever their direction, in ascending order.

    Example:
        >>> nodes_within(torch.tensor([[0, 2, 2], [1, 1, 3]]), 4, 0, 2)
        tensor([0, 1, 2])
    """
    source, target = edge_index
    near = torch.zeros(num_nodes, dtype=torch.bool)
    near[node] = True
    for _ in range(hops):
        ends = torch.cat([target[near[source]], source[near[target]]])
        near[ends] = True
    return near.nonzero().flatten()


def subgraph(data: Data, nodes: Tensor) -> Data:
    """Return some nodes, by ascending index, with their features and the edges between them."""
    n = int(data.num_nodes or 0)
    place = torch.full((n,), -1)
    place[nodes] = torch.arange(nodes.numel())
    ends = place[data.edge_index]
    inside = (ends >= 0).all(0)
    part = Data(x=select(data.x, nodes), edge_index=ends[:, inside], num_nodes=nodes.numel())
    weight = data.get("edge_weight")
    if weight is not None:
        part.edge_weight = weight[inside]
    if data.get("scaled_by") is not None:
        part.scaled_by = data.scaled_by
    return part


def with_row(x: Tensor, node: int, row: Tensor) -> Tensor:
    """Return a copy of a matrix, dense or CSR, with another row.

    Example:
        >>> with_row(torch.zeros(2, 2), 1, torch.tensor([3.0, 4.0])).tolist()
        [[0.0, 0.0], [3.0, 4.0]]
    """
    if x.layout != torch.sparse_csr:
        changed = x.clone()
        changed[node] = row
        return changed
    crow, col, value = x.crow_indices(), x.col_indices(), x.values()
    first, last = int(crow[node]), int(crow[node + 1])
    filled = row.nonzero().flatten()
    starts = crow.clone()
    starts[node + 1 :] += filled.numel() - (last - first)
    columns = torch.cat([col[:first], filled, col[last:]])
    values = torch.cat([value[:first], row[filled], value[last:]])
    return csr_tensor(starts, columns, values, (x.size(0), x.size(1)))
