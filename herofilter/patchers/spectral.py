"""The learned patcher: node pairs scored by a spectral filter that training adapts."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.errors import ConfigError, check_choice
from herofilter.memory import check_memory
from herofilter.patchers.learned import LearnedPatcher, share_slots
from herofilter.patchers.patches import EGO, Patches, Slot
from herofilter.patchers.spectral_memory import BLOCK_BYTES, score_memory
from herofilter.spectral import (
    DIRECTED_RULES,
    AdaptiveFilter,
    Filter,
    PolynomialFilter,
    cached_eigenbasis,
    cached_singular_basis,
    dense_scores,
    normalised_adjacency,
    sampled_scores,
    top_p,
)

SIDES = ("out", "in")
SELECTIONS = ("top", "signed")


class SpectralPatcher(LearnedPatcher):
    r"""Pick for every node its top-p nodes under :math:`\mathbf{R} = \mathbf{U}\,
    g(\mathbf{\Lambda})\,\mathbf{U}^\top`.

    The choice is made for all nodes by :meth:`refresh`, in blocks of rows, and stays until the
    next refresh. The scores of the chosen entries are computed at every call and carry
    gradients, so that the filter's weights learn. Several filters share one patch, each with
    a separate slot. Scores are ranked with their sign; a score that is zero up to rounding is never
    chosen, so a row may end in padding.

    With directions kept, :math:`\mathbf{N} = \mathbf{D}_{out}^{-1/2} \mathbf{A}
    \mathbf{D}_{in}^{-1/2} = \mathbf{U} \mathbf{\Sigma} \mathbf{V}^\top`, and g splits into its
    even powers, which stay on a side (U or V), and its odd ones, which change it. On side ``out``

    .. math::
        \mathbf{R} = \mathbf{U} g_{even}(\mathbf{\Sigma}) \mathbf{U}^\top
        + \mathbf{U} g_{odd}(\mathbf{\Sigma}) \mathbf{V}^\top,

    and on the side ``in`` U and V are swapped. The start ``hop1`` then takes the nodes a node
    points to (out) or those that point to it (in), and ``hop2`` those that point to the same
    nodes (out) or that the same nodes point to (in): exactly with the activation ``identity``,
    while a nonlinear σ adds a little of higher powers of N. On a symmetric graph, with an odd σ
    and equal weights at ±λ, both sides are the paper's R.

    Args:
        data: the graph.
        patch_size: p, the node itself included.
        filters: one filter or several; the paper's adaptive polynomial by default.
        num_eigenpairs: keep so many eigenvalues of largest modulus; None keeps all.
        self_loops: whether Ã has self-loops.
        ego: ``first`` puts the node itself into slot 0; ``ranked`` lets it compete.
        directed: ``symmetrise``, or ``keep`` to follow directions, for polynomial filters only
            (others have g(0) ≠ 0, which needs the null space that the basis leaves out).
        sides: with ``keep``, ``out`` or ``in`` for each filter; by default all ``out``.
        selection: ``top`` fills a slot with the largest scores, ``signed`` its first half,
            rounded up, with the largest positive and the rest with the most negative ones.
        names: of the filters' slots; by default ``filter-0``, ``filter-1``, …

    Example:
        >>> from herofilter.data import csbm
        >>> patcher = SpectralPatcher(csbm(num_nodes=100), patch_size=8)
        >>> patcher().index.shape
        torch.Size([100, 8])
        >>> chain = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
        >>> hop = AdaptiveFilter(activation="identity", start="hop1")
        >>> SpectralPatcher(chain, 2, hop, directed="keep", sides=["in"])().index.tolist()
        [[0, -1], [1, 0], [2, 1]]
    """

    vectors: Tensor
    right: Tensor | None
    eigenvalues: Tensor

    def __init__(
        self,
        data: Data,
        patch_size: int = 16,
        filters: Filter | Sequence[Filter] | None = None,
        num_eigenpairs: int | None = None,
        self_loops: bool = True,
        ego: str = "first",
        directed: str = "symmetrise",
        sides: Sequence[str] | None = None,
        selection: str = "top",
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        check_choice("ego", ego, ("first", "ranked"))
        check_choice("directed", directed, DIRECTED_RULES)
        check_choice("selection", selection, SELECTIONS)
        n = int(data.num_nodes or 0)
        if not 1 <= patch_size <= n:
            raise ConfigError(
                "patch_size must be between 1 and the number of nodes "
                f"(got {patch_size}; the graph has {n} nodes)"
            )
        if filters is None:
            filters = AdaptiveFilter()
        self.filters = tuple(filters) if isinstance(filters, Sequence) else (filters,)
        self.patch_size = patch_size
        self.ego_first = ego == "first"
        self.signed = selection == "signed"
        self.sides = self._check_sides(sides, directed)
        self.names = self._check_names(names)
        self.slots = share_slots(patch_size, self.names, self.ego_first)
        check_memory(
            score_memory(n, num_eigenpairs, directed == "keep"),
            f"scores of {n} nodes with each other",
            "use the fast patcher or a smaller num_eigenpairs",
        )
        matrix = normalised_adjacency(
            data.edge_index,
            n,
            data.get("edge_weight"),
            self_loops=self_loops,
            directed=directed,
        )
        right = None
        if directed == "keep":
            pairs = cached_singular_basis(matrix, num_eigenpairs)
            vectors, right, values = pairs.left, pairs.right, pairs.values
        else:
            basis = cached_eigenbasis(matrix, num_eigenpairs)
            vectors, values = basis.vectors, basis.eigenvalues
        self.register_buffer("vectors", vectors, persistent=False)
        self.register_buffer("right", right, persistent=False)
        self.register_buffer("eigenvalues", values, persistent=False)
        self.register_buffer("index", torch.full((n, patch_size), -1), persistent=True)
        self.weights = nn.ParameterList(
            nn.Parameter(kind.initial_weights(self.eigenvalues)) for kind in self.filters
        )
        self.refresh()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            for kind, weight in zip(self.filters, self.weights, strict=True):
                weight.copy_(kind.initial_weights(self.eigenvalues))
        self.refresh()

    def responses(self) -> list[Tensor]:
        """Return each filter's response on the graph's eigenvalues, or singular values."""
        return [
            kind.response(self.eigenvalues, weight)
            for kind, weight in zip(self.filters, self.weights, strict=True)
        ]

    def curves(self) -> tuple[Tensor, dict[str, Tensor]]:
        values, order = self.eigenvalues.sort()
        responses = [response[order] for response in self.responses()]
        return values, dict(zip(self.names, responses, strict=True))

    @torch.no_grad()
    def start_curves(self, labels: Tensor) -> dict[str, Tensor]:
        values = self.eigenvalues
        order = values.argsort()
        starts = [kind.response(values, kind.initial_weights(values)) for kind in self.filters]
        return {name: start[order] for name, start in zip(self.names, starts, strict=True)}

    @torch.no_grad()
    def refresh(self) -> None:
        n = self.num_nodes
        if self.ego_first:
            self.index[:, 0] = self._all_nodes()
        rows = max(1, BLOCK_BYTES // (4 * n))
        bases = self._bases()
        for slot, side, parts in self._filled():
            for start in range(0, n, rows):
                nodes = self._all_nodes()[start : start + rows]
                scores = _rounded(
                    _total(
                        dense_scores(bases[side], part, nodes, right=bases[other])
                        for other, part in parts
                    )
                )
                if self.ego_first:
                    scores[nodes - start, nodes] = -torch.inf
                choose = _top_signed if self.signed else top_p
                score, index = choose(scores, slot.stop - slot.start)
                index[torch.isinf(score)] = -1
                self.index[nodes, slot.start : slot.stop] = index

    def forward(self, nodes: Tensor | None = None) -> Patches:
        rows = self._all_nodes() if nodes is None else nodes
        index = self.index[rows]
        scores = [self.vectors.new_ones(rows.numel(), 1)] if self.ego_first else []
        bases = self._bases()
        for slot, side, parts in self._filled():
            chosen = index[:, slot.start : slot.stop].contiguous()
            scores.append(
                _total(
                    sampled_scores(bases[side], part, rows, chosen, right=bases[other])
                    for other, part in parts
                )
            )
        return Patches(
            index=index,
            score=torch.cat(scores, dim=1),
            nodes=rows,
            slots=self.slots,
            num_nodes=self.num_nodes,
        )

    def summarise(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor:
        r"""Return the full response :math:`\mathbf{R}\mathbf{H}` of each filter at ``nodes``.

        The response is scaled to a largest modulus of one, so that filters are comparable; with
        directions kept, by the bound :math:`|g_{even}| + |g_{odd}|` of it.

        Shapes:
            - **hidden**: [n, h], of all nodes
            - **returns**: [number of filters, b, h]
        """
        bases = self._bases()
        spectra = {side: basis.t() @ hidden for side, basis in bases.items()}
        summaries = []
        for side, parts in zip(self.sides, self._parts(), strict=True):
            left = bases[side] if nodes is None else bases[side][nodes]
            bound = _total(part.abs() for _, part in parts)
            # a graph without edges or loops has no singular values
            scale = bound.amax().clamp(min=1e-12) if bound.numel() else 1
            mixed = _total(spectra[other] * (part / scale).unsqueeze(1) for other, part in parts)
            summaries.append(left @ mixed)
        return torch.stack(summaries)

    def _bases(self) -> dict[str, Tensor]:
        """Return the vectors of each side; without directions there is one."""
        return (
            {"out": self.vectors} if self.right is None else {"out": self.vectors, "in": self.right}
        )

    def _parts(self) -> Iterator[list[tuple[str, Tensor]]]:
        """Yield the parts of each filter's response, each with the side on which it ends."""
        if self.right is None:
            yield from ([("out", response)] for response in self.responses())
            return
        for kind, weight, side in zip(self.filters, self.weights, self.sides, strict=True):
            even, odd = kind.parts(self.eigenvalues, weight)
            yield [(side, even), ("in" if side == "out" else "out", odd)]

    def _filled(self) -> Iterator[tuple[Slot, str, list[tuple[str, Tensor]]]]:
        """Yield slot, side and parts of each filter that has room in the patch."""
        slots = {slot.name: slot for slot in self.slots}
        for name, side, parts in zip(self.names, self.sides, self._parts(), strict=True):
            if name in slots:
                yield slots[name], side, parts

    def _check_sides(self, sides: Sequence[str] | None, directed: str) -> tuple[str, ...]:
        count = len(self.filters)
        if directed == "keep":
            for kind in self.filters:
                if not isinstance(kind, PolynomialFilter):
                    raise ConfigError(
                        "filters must be polynomial (adaptive or shared) to keep directions "
                        f'(got {kind.name}); use another filter or directed="symmetrise"'
                    )
        elif sides is not None:
            raise ConfigError(
                'sides must be left out unless directions are kept; set directed="keep"'
            )
        if sides is None:
            return ("out",) * count
        for side in sides:
            check_choice("a side", side, SIDES)
        if len(sides) != count:
            raise ConfigError(f"sides must name one side per filter (got {len(sides)} for {count})")
        return tuple(sides)

    def _check_names(self, names: Sequence[str] | None) -> tuple[str, ...]:
        count = len(self.filters)
        if names is None:
            return tuple(f"filter-{position}" for position in range(count))
        if len(names) != count or len({EGO, *names}) != count + 1:
            raise ConfigError(
                f"names must give each of the {count} filters its own name, other than {EGO!r} "
                f"(got {', '.join(map(repr, names)) or 'none'})"
            )
        return tuple(names)


def _rounded(scores: Tensor) -> Tensor:
    """Return scores relative to their row's largest, in steps that hide rounding errors.

    Scores that are equal in exact arithmetic become equal, so that ties are settled by node id, and
    those that are zero in it become minus infinity.
    """
    scores = scores / scores.abs().amax(1, keepdim=True).clamp(min=1e-30)
    scores = scores.mul_(2**18).round_()
    return scores.masked_fill_(scores == 0, -torch.inf)


def _top_signed(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return as :func:`top_p` the largest positive scores, then the most negative ones.

    Where there are too few of a sign, minus infinity fills its columns.
    """
    above = top_p(scores.masked_fill(scores < 0, -torch.inf), (count + 1) // 2)
    if count == 1:
        return above
    # scores of minus infinity are excluded, and stay so
    excluded = (scores > 0) | scores.isinf()
    below = top_p((-scores).masked_fill_(excluded, -torch.inf), count // 2)
    return torch.cat([above[0], below[0]], dim=1), torch.cat([above[1], below[1]], dim=1)


def _total(terms: Iterable[Tensor]) -> Tensor:
    return reduce(torch.add, terms)
