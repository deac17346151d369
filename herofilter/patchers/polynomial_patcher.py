"""The learned patcher for graphs of every size: polynomial filters, without eigenvectors."""

import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.errors import ConfigError, GraphError, check_choice
from herofilter.patchers.alignment import aligned_weights
from herofilter.patchers.filter_bank import ChebyshevBank, FilterBank, RelationBank
from herofilter.patchers.learned import LearnedPatcher, share_slots
from herofilter.patchers.patches import Patches, Slot
from herofilter.patchers.polynomial.exact import rows_memory
from herofilter.patchers.row_choice import choose_rows
from herofilter.spectral.adjacency import normalised_adjacency
from herofilter.spectral.filters import ChebyshevFilter

_SPECTRUM_UP_TO = 4000
CURVE_POINTS = 201


class PolynomialPatcher(LearnedPatcher):
    r"""Pick for every node its top-p nodes under :math:`\mathbf{R} = g(\tilde{\mathbf{A}})`.

    Each filter g is a polynomial that training adapts (:class:`ChebyshevFilter`). Its full
    response :math:`g(\tilde{\mathbf{A}})\mathbf{H}` takes K sparse products, and through it every
    node gives the filter a gradient at every step. The patch members are the largest entries of
    the rows of the same matrix, chosen by :meth:`refresh`; their scores follow the filter at
    every call. No eigenvectors and no matrix of size n × n are needed.

    With ``relations`` the patch and the summaries of a directed graph begin with those fixed
    relations, and the learned filters of the undirected graph stand beside them.

    Args:
        data: the graph.
        patch_size: p, the node itself included.
        starts: one learned filter per name; see :class:`ChebyshevFilter`.
        order: K.
        self_loops: whether Ã has self-loops.
        ego: ``first`` puts the node itself into slot 0; ``ranked`` lets it compete.
        relations: fixed relations of a directed graph; none by default.
        nodes: choose the patches of these nodes alone, which are then all that can be asked for.

    Example:
        >>> from herofilter.data import csbm
        >>> patcher = PolynomialPatcher(csbm(num_nodes=100), patch_size=8)
        >>> patcher().index.shape, patcher.summarise(torch.ones(100, 16)).shape
        (torch.Size([100, 8]), torch.Size([1, 100, 16]))
    """

    entries: Tensor
    ranked_by: Tensor

    def __init__(
        self,
        data: Data,
        patch_size: int = 9,
        starts: Sequence[str] = ("hop2",),
        order: int = 10,
        self_loops: bool = False,
        ego: str = "first",
        relations: Sequence[str] = (),
        nodes: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.nodes = nodes
        check_choice("ego", ego, ("first", "ranked"))
        n = int(data.num_nodes or 0)
        if not 1 <= patch_size <= n:
            raise ConfigError(
                "patch_size must be between 1 and the number of nodes "
                f"(got {patch_size}; the graph has {n} nodes)"
            )
        self.patch_size, self.ego_first = patch_size, ego == "first"
        self.filters = tuple(ChebyshevFilter(order, start) for start in starts)
        edges = (data.edge_index, n, data.get("edge_weight"))
        undirected = normalised_adjacency(*edges, self_loops=self_loops)
        self.learned = ChebyshevBank(undirected, self.filters)
        self.fixed = None
        if relations:
            directed = normalised_adjacency(*edges, self_loops=self_loops, directed="keep")
            self.fixed = RelationBank(directed, relations)
        self.names = tuple(name for bank in self._banks() for name in bank.names)
        self.slots = share_slots(patch_size, self.names, self.ego_first)
        self.register_buffer("index", torch.full((n, patch_size), -1))
        widest = max(bank.basis.num_terms for bank in self._banks())
        self.register_buffer("entries", torch.zeros(n, patch_size, widest))
        self.register_buffer("ranked_by", self.learned.values.detach().clone())
        if self.fixed is not None:
            self._choose(self.fixed, self.fixed.coefficients())
        self.restore()

    @staticmethod
    def memory(
        num_nodes: int,
        num_edges: int,
        patch_size: int = 9,
        num_filters: int = 2,
        order: int = 10,
    ) -> int:
        """Return about how many bytes a choice takes at its peak, what is kept of it included.

        Example:
            >>> PolynomialPatcher.memory(20_000, 100_000) < 2**30
            True
        """
        # an edge that is listed once is there twice
        entries = 2 * num_edges
        # an index of 8 bytes, an entry of 4 for each power
        kept = num_nodes * patch_size * (8 + 4 * (order + 1))
        return rows_memory(num_nodes, entries, order + 1, num_filters, patch_size) + kept

    @property
    def weights(self) -> list[Tensor]:
        """The weights of each learned filter."""
        return list(self.learned.values)

    @property
    def eigenvalues(self) -> Tensor:
        """Those of Ã, up to 4000 nodes; none of a larger graph, which never needs them."""
        if self.num_nodes > _SPECTRUM_UP_TO:
            return torch.empty(0)
        found: Tensor = torch.linalg.eigvalsh(torch.from_numpy(self.learned.matrix.toarray()))
        return found.float()

    def curves(self) -> tuple[Tensor, dict[str, Tensor]]:
        grid = torch.linspace(-1, 1, CURVE_POINTS)
        pairs = zip(self.filters, self.weights, strict=True)
        responses = [kind.response(grid, weights.cpu()) for kind, weights in pairs]
        return grid, dict(zip(self.learned.names, responses, strict=True))

    @torch.no_grad()
    def start_curves(self, labels: Tensor) -> dict[str, Tensor]:
        grid = torch.linspace(-1, 1, CURVE_POINTS)
        found = {}
        for name, kind in zip(self.learned.names, self.filters, strict=True):
            weights = None
            if kind.start == "aligned":
                weights = aligned_weights(kind, self.learned.basis, labels.cpu())
            start = kind.initial_weights(grid) if weights is None else weights
            found[name] = kind.response(grid, start)
        return found

    def reset_parameters(self) -> None:
        self.learned.reset_parameters()
        self.refresh()

    @torch.no_grad()
    def align(self, labels: Tensor) -> None:
        """Start the filters named ``aligned`` from known labels, -1 for those that are not."""
        aligned = torch.tensor([kind.start == "aligned" for kind in self.filters])
        if aligned.any():
            weights = aligned_weights(self.filters[0], self.learned.basis, labels.cpu())
            if weights is not None:
                values = self.learned.values
                values[aligned.to(values.device)] = weights.to(values.device)
                self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        self.ranked_by.copy_(self.learned.values)
        self.restore()

    @torch.no_grad()
    def restore(self) -> None:
        """Choose the patch members by the filters as they were at the last :meth:`refresh`."""
        started = time.perf_counter()
        if self.ego_first:
            self.index[:, 0] = self._all_nodes()
        self._choose(self.learned, self.filters[0].coefficients(self.ranked_by))
        self.refresh_seconds = time.perf_counter() - started

    def forward(self, nodes: Tensor | None = None) -> Patches:
        rows = self._all_nodes() if nodes is None else nodes
        if self.nodes is not None and not torch.isin(rows.cpu(), self.nodes).all():
            raise GraphError(
                f"patches must be asked for nodes that they were made for (got others than those "
                f"{self.nodes.numel()} nodes); make the patcher for all nodes"
            )
        index, entries = self.index[rows], self.entries[rows]
        scores = [entries.new_ones(rows.numel(), 1)] if self.ego_first else []
        for bank in self._banks():
            theta = bank.coefficients()
            for number, slot in self._filled(bank):
                # [b, w, K + 1] times [K + 1]
                known = entries[:, slot.start : slot.stop, : theta.size(1)]
                scores.append(known @ theta[number])
        return Patches(index, torch.cat(scores, dim=1), rows, self.slots, self.num_nodes)

    def summarise(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor:
        found = [bank.basis.respond(hidden, bank.coefficients()) for bank in self._banks()]
        stacked = found[0] if len(found) == 1 else torch.cat(found)
        return stacked if nodes is None else stacked.index_select(1, nodes)

    def _banks(self) -> Iterator[FilterBank]:
        if self.fixed is not None:
            yield self.fixed
        yield self.learned

    def _filled(self, bank: FilterBank) -> list[tuple[int, Slot]]:
        """Return which filters of a bank have room in the patch, with their slots."""
        slots = {slot.name: slot for slot in self.slots}
        return [(number, slots[name]) for number, name in enumerate(bank.names) if name in slots]

    def _choose(self, bank: FilterBank, coefficients: Tensor) -> None:
        filled = self._filled(bank)
        if not filled:
            return
        widths = [slot.stop - slot.start for _, slot in filled]
        start, stop = filled[0][1].start, filled[-1][1].stop
        numbers = [number for number, _ in filled]
        index, entries = choose_rows(
            bank.basis, coefficients[numbers], widths, self.ego_first, self.nodes
        )
        device = self.index.device
        rows = slice(None) if self.nodes is None else self.nodes.to(device)
        self.index[rows, start:stop] = index.to(device)
        self.entries[rows, start:stop, : entries.size(2)] = entries.to(device)
