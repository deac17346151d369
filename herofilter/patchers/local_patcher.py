"""The learned patcher for graphs too large for products with all edges at every step."""

from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.errors import ConfigError
from herofilter.patchers.alignment import aligned_weights, alignment_memory
from herofilter.patchers.fast import FastPatcher, filter_names
from herofilter.patchers.learned import LearnedPatcher
from herofilter.patchers.patches import Patches
from herofilter.patchers.placed import PlacedPatches
from herofilter.patchers.polynomial_patcher import CURVE_POINTS
from herofilter.patchers.store_writer import STORED_FROM, stored_patches
from herofilter.spectral.adjacency import normalised_adjacency
from herofilter.spectral.filters import ChebyshevFilter
from herofilter.spectral.polynomial_basis import ChebyshevBasis


class LocalPatcher(LearnedPatcher):
    r"""Patches of a large graph by a filter that is learned once, from the training labels.

    The filter is the closed form of :func:`aligned_coefficients`: it needs K sparse products for a
    sample of nodes, and no training. The patches are made after that, by the local recurrence of
    :class:`~herofilter.patchers.polynomial.local.LocalPolynomial`, and stay as they are; those of
    a graph beyond 50 000 nodes are kept in the cache folder.

    Args:
        data: the graph.
        fast: patch size, tolerance and the other settings of rows.
        relations: those of a directed graph that fill the patch before the filter; none by default.
        order: K of the filter.
        nodes: make patches of these nodes alone; of all by default.

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=100, num_classes=2, heterophily=0.9)
        >>> patcher = LocalPatcher(data, FastPatcher(patch_size=8))
        >>> patcher.align(data.y)
        >>> patcher().index.shape
        torch.Size([100, 8])
    """

    frozen = True
    values: Tensor

    def __init__(
        self,
        data: Data,
        fast: FastPatcher,
        relations: tuple[str, ...] = (),
        order: int = 10,
        nodes: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.data, self.fast, self.relations, self.nodes = data, fast, relations, nodes
        self.filter = ChebyshevFilter(order, "aligned")
        self.names = filter_names(1)
        self.patch_size = fast.patch_size
        self.register_buffer("values", self.filter.initial_weights(torch.empty(0)))
        self.slots = self._with_filter().all_slots()
        self._made: PlacedPatches | None = None

    @property
    def num_nodes(self) -> int:
        return int(self.data.num_nodes or 0)

    def memory(self, num_nodes: int, num_edges: int) -> int:
        """Return about how many bytes the filter and the patches take at their peak."""
        # an edge that is listed once is there twice
        alignment = alignment_memory(num_nodes, 2 * num_edges, self.filter.order + 1)
        return max(alignment, self._with_filter().memory(num_nodes, num_edges))

    def reset_parameters(self) -> None:
        self.values.copy_(self.filter.initial_weights(self.values))
        self._made = None

    @torch.no_grad()
    def align(self, labels: Tensor) -> None:
        matrix = normalised_adjacency(
            self.data.edge_index,
            self.num_nodes,
            self.data.get("edge_weight"),
            self_loops=self.fast.self_loops,
            directed="symmetrise",
        )
        basis = ChebyshevBasis(matrix, self.filter.order)
        weights = aligned_weights(self.filter, basis, labels.cpu())
        if weights is not None:
            self.values.copy_(weights)
            self._made = None

    def refresh(self) -> None:
        """Do nothing: the filter doesn't change in training."""

    def restore(self) -> None:
        self._made = None

    def curves(self) -> tuple[Tensor, dict[str, Tensor]]:
        grid = torch.linspace(-1, 1, CURVE_POINTS)
        return grid, {self.names[0]: self.filter.response(grid, self.values.cpu())}

    def forward(self, nodes: Tensor | None = None) -> Patches:
        if self._made is None:
            self._made = PlacedPatches(self._make())
        return self._made.rows(nodes, self.values.device)

    def summarise(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor:
        raise ConfigError(
            "summary must be off with patches of a graph this large; set summary=false"
        )

    def _with_filter(self) -> FastPatcher:
        theta = self.filter.coefficients(self.values).tolist()
        return replace(self.fast, relations=self.relations, filters=(tuple(theta),))

    def _make(self) -> Patches:
        patcher = self._with_filter()
        if self.nodes is None and self.num_nodes >= STORED_FROM:
            return stored_patches(patcher, self.data)
        return patcher(self.data, self.nodes).for_all_nodes()
