"""Gradient-boosted trees on a node's own columns and on what its neighbours have."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import normalised
from herofilter.baselines.booster import MOST_COLUMNS, Booster
from herofilter.baselines.column_choice import as_columns, choose_columns, dense
from herofilter.config import Config
from herofilter.data import is_directed
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import GraphError
from herofilter.nn.class_shares import ClassShares
from herofilter.nn.classifier import select
from herofilter.nn.registry import register_model
from herofilter.patchers.filter_bank import RELATION_WORDS
from herofilter.spectral.adjacency import adjacency_matrix, normalise
from herofilter.spectral.some_rows import product_rows

# of more columns, means over neighbours of neighbours would cost more than they tell
SECOND_HOP_COLUMNS = 64
_SIDES = {False: ("neighbours",), True: ("out-neighbours", "in-neighbours")}
_STEPS = {False: ("out",), True: ("out", "in")}
_RETURNS = {False: ("cocitation",), True: ("coreference", "cocitation")}


class NeighbourBooster(Booster):
    r"""Gradient-boosted trees that also read the columns and known labels of neighbours.

    The table has, for node v:

    - its own columns;
    - the mean of each column over its neighbours, :math:`\mathbf{D}^{-1} \mathbf{A} \mathbf{X}`, of
      a directed graph over out- and in-neighbours apart; of wide features for the 256 columns whose
      means differ most between classes;
    - the mean over neighbours' neighbours, :math:`(\mathbf{D}^{-1} \mathbf{A})^2 \mathbf{X}` of the
      undirected graph, if these are at most 64 columns;
    - the logarithm of one plus its degree;
    - the class shares of the neighbours whose label is known, and their number; the same for nodes
      two steps away, weighted by degrees.

    The node's own label is in none of these, whether it is known or not: shares leave out every
    path that returns to the node (:class:`~herofilter.nn.class_shares.ClassShares`). So a training
    node's row is made like that of a node to predict, from the labels of *other* training nodes,
    and there is no shift between the two. A node without neighbours has zeros.

    Args:
        in_channels: width of the features.
        out_channels: number of classes.
        matrix: the adjacency without self-loops; ``A[i, j]`` is the edge i → j.
        directed: whether out- and in-neighbours are told apart.
    """

    full_batch = True
    ignores_graph = False
    of_neighbours: Tensor
    sides: Tensor

    def __init__(
        self, in_channels: int, out_channels: int, matrix: sp.csr_array, directed: bool = False
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.matrix = matrix
        self.register_buffer("of_neighbours", torch.arange(min(in_channels, MOST_COLUMNS)))
        self.register_buffer("sides", torch.tensor([2 if directed else 1]))
        self._arrange()

    def _arrange(self) -> None:
        """Make all matrices for as many sides as are told apart."""
        matrix, reverse = self.matrix, sp.csr_array(self.matrix.T)
        both = sp.csr_array(matrix.maximum(reverse))
        sides = (matrix, reverse) if self.directed else (both,)
        self.means = [normalised(side, "row").astype(np.float32) for side in sides]
        self.both = normalised(both, "row").astype(np.float32)
        self.degrees = np.stack([np.diff(side.indptr) for side in sides], axis=1)
        words = [RELATION_WORDS[name] for name in _STEPS[self.directed]]
        self.near = ClassShares(sides[0], words, self.out_channels)
        words = [RELATION_WORDS[name] for name in _RETURNS[self.directed]]
        self.far = ClassShares(normalise(sides[0]), words, self.out_channels)

    @property
    def directed(self) -> bool:
        """Whether out- and in-neighbours are told apart."""
        return int(self.sides) == 2

    @property
    def width(self) -> int:
        sides, of_neighbours = len(self.means), self.of_neighbours.numel()
        shares = (sides + len(self.far.words)) * (self.out_channels + 1)
        return self.own.numel() + (sides + self._second_hop) * of_neighbours + sides + shares

    @property
    def _second_hop(self) -> bool:
        return self.of_neighbours.numel() <= SECOND_HOP_COLUMNS

    def show_labels(self, labels: Tensor) -> None:
        self.near.show(labels)
        self.far.show(labels)

    def choose(self, data: Data, nodes: Tensor) -> None:
        super().choose(data, nodes)
        x, y = as_columns(data.x), data.y[nodes].numpy()
        rows = self.both[nodes.numpy()]
        chosen = choose_columns(
            self.in_channels, MOST_COLUMNS, lambda part: rows @ dense(x, part), y
        )
        self.of_neighbours = torch.from_numpy(chosen)

    def table(self, data: Data, nodes: Tensor | None = None) -> np.ndarray:
        n = len(self.degrees)
        if int(data.num_nodes or 0) != n:
            raise GraphError(
                f"the graph must be the one that the model was built for, with {n} nodes "
                f"(got {int(data.num_nodes or 0)}); build the model for it"
            )
        own = super().table(data, nodes)
        parts = self._means(data) if nodes is None else self._means_of(data, nodes.numpy())
        degrees = self.degrees if nodes is None else self.degrees[nodes.numpy()]
        parts.append(np.log1p(degrees.astype(np.float32)))
        shares = [
            part.shares() if nodes is None else part.shares_at(nodes)
            for part in (self.near, self.far)
        ]
        # [b, r * (C + 1)]
        parts += [part.transpose(0, 1).flatten(1).numpy() for part in shares]
        return np.concatenate([own, *parts], axis=1)

    def _means(self, data: Data) -> list[np.ndarray]:
        """Return the means over neighbours of every node, as many columns each: ``[n, c]``."""
        x = dense(as_columns(data.x), self.of_neighbours.numpy())
        found = [matrix @ x for matrix in self.means]
        return [*found, self.both @ (self.both @ x)] if self._second_hop else found

    def _means_of(self, data: Data, nodes: np.ndarray) -> list[np.ndarray]:
        """Return the same of some nodes, from their neighbourhoods alone."""

        def columns(rows: np.ndarray) -> np.ndarray:
            return self._read(data, rows)

        found = [product_rows(matrix, nodes, columns) for matrix in self.means]
        if self._second_hop:
            once = partial(product_rows, self.both, dense=columns)
            found.append(product_rows(self.both, nodes, once))
        return found

    def _read(self, data: Data, rows: np.ndarray) -> np.ndarray:
        """Return the columns whose means are taken, of some nodes: ``[b, c]``."""
        x = as_columns(select(data.x, torch.from_numpy(rows).long()))
        return dense(x, self.of_neighbours.numpy())

    def changed_rows(self, data: Data, node: int, changed: Tensor, x: Tensor) -> np.ndarray:
        r"""Return the row of a node when single nodes have other features: ``[k, width]``.

        Means are linear in the features: a change :math:`\boldsymbol{\delta}` of node u adds
        :math:`M_{vu} \boldsymbol{\delta}` to each, so that only what node v reads is computed.

        Args:
            data: the graph.
            node: v, whose row it is.
            changed: ``[k]``, which node has other features, in each of k cases.
            x: ``[k, in_channels]``, its features then.
        """
        table = np.repeat(self.table(data, torch.tensor([node])), len(changed), axis=0)
        nodes, own, of_neighbours = changed.numpy(), self.own.numpy(), self.of_neighbours.numpy()
        itself = nodes == node
        table[itself, : own.size] = x.numpy()[itself][:, own]
        # [k, c]
        step = x.numpy()[:, of_neighbours] - self._read(data, nodes)
        weights = [matrix[[node]] for matrix in self.means]
        if self._second_hop:
            weights.append(self.both[[node]] @ self.both)
        first = own.size
        for weight in weights:
            table[:, first : first + of_neighbours.size] += weight.toarray()[0, nodes, None] * step
            first += of_neighbours.size
        return table

    def column_names(self, features: list[str]) -> list[str]:
        own = super().column_names(features)
        means = [features[column] for column in self.of_neighbours.tolist()]
        sides = _SIDES[self.directed]
        names = [f"{name}, mean of {side}" for side in sides for name in means]
        if self._second_hop:
            names += [f"{name}, mean of neighbours' neighbours" for name in means]
        names += [f"number of {side} (logarithm)" for side in sides]
        known = [f"known {side}" for side in sides]
        known += [f"known nodes two steps away ({name})" for name in _RETURNS[self.directed]]
        for who in known:
            names += [f"share of class {number} among {who}" for number in range(self.out_channels)]
            names.append(f"number of {who}")
        return [*own, *names]

    def expect_columns(self, state: Mapping[str, Any]) -> None:
        super().expect_columns(state)
        self.of_neighbours = self.columns_of(state, "of_neighbours", self.of_neighbours)
        sides = state.get("sides", self.sides)
        # a model of a directed graph meets an undirected one, or the reverse
        if not torch.equal(sides, self.sides) and sides.tolist() in ([1], [2]):
            self.sides = sides.clone()
            self._arrange()


@register_model(
    "neighbour-booster",
    paper="boosted trees",
    needs="the edges and a table of the columns of neighbours",
    scales=True,
    directed=True,
    gradients=False,
)
def build_neighbour_booster(data: Data, config: Config, spec: GraphSpec) -> NeighbourBooster:
    """Build a booster on the columns of nodes and of their neighbours, for a graph."""
    directed = config.patcher.directed == "keep" and is_directed(data)
    matrix = adjacency_matrix(
        data.edge_index,
        int(data.num_nodes or 0),
        data.get("edge_weight"),
        self_loops=False,
        directed="keep" if directed else "symmetrise",
    )
    return NeighbourBooster(spec.in_channels, spec.num_classes, matrix, directed)
