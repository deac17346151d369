"""Patches: the nodes chosen for each node and their scores, the input of a mixer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.npz_file import UNREADABLE, read_arrays
from herofilter.errors import ConfigError, GraphError, OutOfMemoryError, check_choice
from herofilter.files import DamagedFileError, atomic_path

EGO = "ego"


class Slot(NamedTuple):
    """A named range of columns, ``start`` to ``stop``, of all patches."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Patches:
    r"""The top-p nodes of each node and their scores :math:`R_{vj}`.

    Args:
        index: chosen nodes, int64 or int32 [m, p]; -1 is padding.
        score: their scores, float32 [m, p]; 0 at padding.
        nodes: the node that each row belongs to, int64 [m]; by default 0, 1, 2, …
        slots: named column ranges that cover all columns in order; by default ``ego`` for
            column 0 when it is the node itself in every row, and ``patch`` for the others.
        num_nodes: number of nodes of the graph; by default the number of rows.
        certified: which rows are certified as the top p within the patcher's margin, bool [m];
            None where no certificate was asked for.

    Example:
        >>> patches = Patches(torch.tensor([[0, 1], [1, 0], [2, -1]]), torch.eye(3, 2))
        >>> patches.patch_size, [slot.name for slot in patches.slots]
        (2, ['ego', 'patch'])
        >>> patches.homophily(torch.tensor([0, 0, 1]))
        1.0
    """

    index: Tensor
    score: Tensor
    nodes: Tensor = field(default_factory=lambda: torch.arange(0))
    slots: tuple[Slot, ...] = ()
    num_nodes: int = 0
    certified: Tensor | None = None

    def __post_init__(self) -> None:
        if self.index.dim() != 2 or self.index.dtype not in (torch.int64, torch.int32):
            raise GraphError(
                "index must be an int64 or int32 tensor with one row per node "
                f"(got {self.index.dtype} {list(self.index.shape)})"
            )
        if self.score.shape != self.index.shape or self.score.dtype != torch.float32:
            raise GraphError(
                f"score must be a float32 tensor of the shape of index {list(self.index.shape)} "
                f"(got {self.score.dtype} {list(self.score.shape)})"
            )
        if self.nodes.numel() == 0:
            object.__setattr__(self, "nodes", torch.arange(self.num_rows, device=self.index.device))
        if self.num_nodes == 0:
            object.__setattr__(self, "num_nodes", self.num_rows)
        if self.nodes.shape != self.index.shape[:1] or self.nodes.dtype != torch.int64:
            raise GraphError(
                f"nodes must be an int64 tensor with {self.num_rows} entries, one per row "
                f"(got {self.nodes.dtype} {list(self.nodes.shape)})"
            )
        self._check_range("index", self.index, -1)
        self._check_range("nodes", self.nodes, 0)
        if not self.slots:
            object.__setattr__(self, "slots", self._default_slots())
        self._check_slots()

    @property
    def patch_size(self) -> int:
        """Number of columns p."""
        return self.index.shape[1]

    @property
    def num_rows(self) -> int:
        """Number of nodes that have a patch here."""
        return self.index.shape[0]

    @property
    def mask(self) -> Tensor:
        """True where there is a node, False at padding, bool [m, p]."""
        return self.index >= 0

    @property
    def has_ego(self) -> bool:
        """Whether column 0 is reserved for the node itself."""
        return self.slots[0].name == EGO if self.slots else False

    def save(self, path: str | Path) -> None:
        """Write the patches to one npz file, atomically."""
        small = np.int32 if self.num_nodes < np.iinfo(np.int32).max else np.int64
        arrays: dict[str, Any] = {
            "index": self.index.cpu().numpy().astype(small),
            "score": self.score.detach().cpu().numpy(),
            "nodes": self.nodes.cpu().numpy(),
            "slot_names": np.array([slot.name for slot in self.slots], dtype=np.str_),
            "slot_ranges": np.array([slot[1:] for slot in self.slots], dtype=np.int64),
            "num_nodes": np.int64(self.num_nodes),
        }
        if self.certified is not None:
            arrays["certified"] = self.certified.cpu().numpy()
        with atomic_path(Path(path)) as scratch, scratch.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Patches:
        """Read what :meth:`save` wrote."""
        if not Path(path).is_file():
            raise DamagedFileError(
                f"{path} must be a file of patches, but there is none; write one with Patches.save"
            )
        try:
            file = read_arrays(Path(path))
            ranges = zip(file["slot_names"], file["slot_ranges"], strict=True)
            return cls(
                torch.from_numpy(file["index"].astype(np.int64)),
                torch.from_numpy(file["score"]),
                torch.from_numpy(file["nodes"]),
                tuple(Slot(str(name), int(a), int(b)) for name, (a, b) in ranges),
                int(file["num_nodes"]),
                torch.from_numpy(file["certified"]) if "certified" in file else None,
            )
        except OutOfMemoryError:
            raise
        except UNREADABLE as error:
            raise DamagedFileError(
                f"{path} must be a file written by Patches.save, but it can't be read as one "
                f"({type(error).__name__}); make the patches again"
            ) from error

    def homophily(self, y: Tensor) -> float:
        """Return the mean share of a node's patch, itself left out, that carries its label.

        Unlabelled nodes (``y < 0``) and rows without another labelled node don't count; the
        result is NaN when no row counts.
        """
        if y.dim() != 1 or y.numel() != self.num_nodes:
            raise GraphError(
                f"y must hold one label for each of the {self.num_nodes} nodes "
                f"(got shape {list(y.shape)})"
            )
        label = y[self.nodes].unsqueeze(1)
        member = y[self.index.clamp(min=0)]
        counts = self._others() & (member >= 0) & (label >= 0)
        total = counts.sum(dim=1)
        alike = (counts & (member == label)).sum(dim=1)
        return float((alike[total > 0].double() / total[total > 0]).mean())

    def induced_graph(self) -> Data:
        """Return the graph with an edge from each node to each other node in its patch.

        The scores become weights without gradients: the graph is data for another model.
        """
        others = self._others()
        start = self.nodes.unsqueeze(1).expand_as(self.index)
        return Data(
            edge_index=torch.stack([start[others], self.index[others]]),
            edge_weight=self.score[others].detach(),
            num_nodes=self.num_nodes,
        )

    def shuffled(self, seed: int) -> Patches:
        """Return each row in random order; the node itself and padding keep their columns.

        Nodes move between slots, so the slots are the default ones again.
        """
        return self.reordered(self.random_columns(seed))

    def random_columns(self, seed: int) -> Tensor:
        """Return columns in random order, int64 [m, p], for :meth:`reordered`.

        The node itself and padding keep their columns.
        """
        others = self._others()
        generator = torch.Generator().manual_seed(seed)
        key = torch.rand(self.index.shape, generator=generator).to(self.index.device)
        column = torch.arange(self.patch_size, device=self.index.device).expand_as(self.index)
        # both sorts list the fixed columns last and in the same order, so those map to themselves
        order = key.masked_fill(~others, torch.inf).argsort(dim=1, stable=True)
        free = column.masked_fill(~others, self.patch_size).argsort(dim=1, stable=True)
        return column.scatter(1, free, order)

    def reordered(self, columns: Tensor) -> Patches:
        """Return each row with the given columns in place of its own; the slots are the default."""
        return self._reordered(columns, slots=())

    def ranked(self) -> Patches:
        """Return each slot sorted by falling score; ties keep their order, padding comes last."""
        key = self.score.masked_fill(~self.mask, -torch.inf)
        orders = [
            key[:, slot.start : slot.stop].argsort(dim=1, descending=True, stable=True) + slot.start
            for slot in self.slots
        ]
        return self._reordered(torch.cat(orders, dim=1), self.slots) if orders else self

    def take(self, rows: Tensor) -> Patches:
        """Return some rows only: positions, or a mask over the rows."""
        return replace(
            self,
            index=self.index[rows].to(torch.int64),
            score=self.score[rows],
            nodes=self.nodes[rows],
            certified=None if self.certified is None else self.certified[rows],
        )

    def to(self, device: torch.device) -> Patches:
        """Return the patches on a device, with indices in int64."""
        return replace(
            self,
            index=self.index.to(device).to(torch.int64),
            score=self.score.to(device),
            nodes=self.nodes.to(device),
            certified=None if self.certified is None else self.certified.to(device),
        )

    def for_all_nodes(self) -> Patches:
        """Return a row for every node of the graph; those that have no patch here are empty."""
        if torch.equal(self.nodes, torch.arange(self.num_nodes, device=self.nodes.device)):
            return self
        shape = (self.num_nodes, self.patch_size)
        index = self.index.new_full(shape, -1)
        score = self.score.new_zeros(shape)
        index[self.nodes], score[self.nodes] = self.index, self.score
        nodes = torch.arange(self.num_nodes, device=self.nodes.device)
        certified = None
        if self.certified is not None:
            certified = self.certified.new_zeros(self.num_nodes)
            certified[self.nodes] = self.certified
        return replace(self, index=index, score=score, nodes=nodes, certified=certified)

    def slot(self, name: str) -> Patches:
        """Return the columns of one slot only."""
        check_choice("slot", name, [slot.name for slot in self.slots])
        _, start, stop = next(slot for slot in self.slots if slot.name == name)
        return replace(
            self,
            index=self.index[:, start:stop],
            score=self.score[:, start:stop],
            slots=(Slot(name, 0, stop - start),),
            certified=None,
        )

    @classmethod
    def join(cls, parts: Sequence[Patches], names: Sequence[str]) -> Patches:
        """Put patches of the same nodes side by side, such as those of several relations.

        Each part becomes the slot of its name; the ego column is kept from the first part only.
        """
        if not parts or len(parts) != len(names) or len({EGO, *names}) != len(names) + 1:
            raise ConfigError(
                f"names must give each of the {len(parts)} parts its own name, other than "
                f"{EGO!r} (got {', '.join(map(repr, names)) or 'none'})"
            )
        first = parts[0]
        indices, scores, slots, stop = [], [], [], 0
        for position, (part, name) in enumerate(zip(parts, names, strict=True)):
            if part.num_nodes != first.num_nodes or not torch.equal(part.nodes, first.nodes):
                raise GraphError(
                    "all parts must hold patches of the same nodes of the same graph "
                    f"({name!r} differs from {names[0]!r})"
                )
            if part.has_ego and position == 0:
                slots.append(Slot(EGO, 0, 1))
            cut = int(part.has_ego and position > 0)
            indices.append(part.index[:, cut:])
            scores.append(part.score[:, cut:])
            start, stop = stop, stop + part.patch_size - cut
            start = max(start, int(position == 0 and part.has_ego))
            if stop > start:
                slots.append(Slot(name, start, stop))
        asked = [part.certified for part in parts if part.certified is not None]
        return replace(
            first,
            index=torch.cat(indices, 1),
            score=torch.cat(scores, 1),
            slots=tuple(slots),
            # relations that are exact have no certificate
            certified=torch.stack(asked).all(0) if asked else None,
        )

    def _others(self) -> Tensor:
        return self.mask & (self.index != self.nodes.unsqueeze(1))

    def _reordered(self, order: Tensor, slots: tuple[Slot, ...]) -> Patches:
        index, score = self.index.gather(1, order), self.score.gather(1, order)
        return replace(self, index=index, score=score, slots=slots)

    def _default_slots(self) -> tuple[Slot, ...]:
        p = self.patch_size
        start = int(p > 0 and torch.equal(self.index[:, 0], self.nodes))
        return (Slot(EGO, 0, 1),) * start + (Slot("patch", start, p),) * (p > start)

    def _check_range(self, name: str, value: Tensor, low: int) -> None:
        if value.numel() and (int(value.min()) < low or int(value.max()) >= self.num_nodes):
            raise GraphError(
                f"{name} must be between {low} and {self.num_nodes - 1}, the last node "
                f"(got {int(value.min())} to {int(value.max())})"
            )

    def _check_slots(self) -> None:
        starts = [0, *(slot.stop for slot in self.slots)]
        tiled = all(
            slot.start == a < slot.stop for slot, a in zip(self.slots, starts, strict=False)
        )
        unique = len({slot.name for slot in self.slots}) == len(self.slots)
        if not tiled or not unique or starts[-1] != self.patch_size:
            got = ", ".join(f"{name} {start}-{stop}" for name, start, stop in self.slots)
            raise GraphError(
                f"slots must have different names and cover columns 0 to {self.patch_size} "
                f"in order and without gaps (got {got})"
            )
