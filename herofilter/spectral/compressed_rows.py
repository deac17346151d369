"""A sparse matrix on a device that isn't the CPU, by gathering and adding alone.

Not every device has sparse tensors, and the compiled loops are for the CPU. Gathering rows and
adding them up is there on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

# floats that a product gathers at a time
_GATHERED = 2**26


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """A matrix in compressed rows.

    Args:
        crow: ``[m + 1]``, the offset of each row's first entry.
        row: ``[E]``, the row of each entry.
        col: ``[E]``, its column.
        value: ``[E]``.

    Example:
        >>> matrix = torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
        >>> (CompressedRows.of(matrix, torch.device("cpu")) @ torch.ones(2, 3)).tolist()
        [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    """

    crow: Tensor
    row: Tensor
    col: Tensor
    value: Tensor

    @classmethod
    def of(cls, matrix: Tensor, device: torch.device) -> CompressedRows:
        """Return a CSR tensor's entries on a device."""
        crow = matrix.crow_indices()
        row = torch.arange(crow.numel() - 1).repeat_interleave(crow.diff())
        parts = (crow, row, matrix.col_indices(), matrix.values())
        return cls(*(part.to(device) for part in parts))

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Return the product with ``dense`` ``[n, h]``, with gradients in both: ``[m, h]``."""
        out = dense.new_zeros(self.crow.numel() - 1, dense.size(1))
        size = max(1, _GATHERED // max(1, dense.size(1)))
        parts = (torch.split(part, size) for part in (self.row, self.col, self.value))
        for row, col, value in zip(*parts, strict=True):
            out = out.index_add(0, row, dense.index_select(0, col) * value.unsqueeze(1))
        return out

    def take(self, rows: Tensor) -> CompressedRows:
        """Return some rows."""
        crow, entry = taken_entries(self.crow, rows)
        row = torch.arange(rows.numel(), device=rows.device).repeat_interleave(crow.diff())
        return CompressedRows(crow, row, self.col[entry], self.value[entry])

    def with_value(self, value: Tensor) -> CompressedRows:
        """Return the matrix with other values of its entries."""
        return replace(self, value=value)


SparseMatrix = Tensor | CompressedRows
"""A CSR tensor on the CPU; its entries elsewhere."""


def taken_entries(crow: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the offsets of some rows, put one after the other, and the indices of their entries.

    Example:
        >>> taken_entries(torch.tensor([0, 2, 2, 5]), torch.tensor([2, 0]))
        (tensor([0, 3, 5]), tensor([2, 3, 4, 0, 1]))
    """
    length = (crow[1:] - crow[:-1])[rows]
    start = torch.cat([length.new_zeros(1), length.cumsum(0)])
    # index of every kept entry: its row's start plus its offset within the row
    offset = torch.arange(int(start[-1]), device=crow.device)
    offset = offset - start[:-1].repeat_interleave(length)
    return start, crow[rows].repeat_interleave(length) + offset


class PlacedMatrix:
    """A CSR tensor in main memory, with a copy on the device where it was last needed.

    Args:
        matrix: the tensor.
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self._copy: CompressedRows | None = None

    def on(self, device: torch.device) -> SparseMatrix:
        """Return the matrix on a device; on the CPU it is the tensor itself."""
        if device.type == "cpu":
            return self.matrix
        if self._copy is None or self._copy.value.device != device:
            self._copy = CompressedRows.of(self.matrix, device)
        return self._copy
