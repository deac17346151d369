"""Fixed patches for a model on a device that isn't the CPU."""

import torch
from torch import Tensor

from herofilter.patchers.patches import Patches

# larger ones stay in main memory, and rows of them are copied for each batch
_COPIED_BYTES = 2**30


class PlacedPatches:
    """Patches in main memory, with a copy on the device where they were last needed.

    Args:
        patches: they may be mapped from a file.
    """

    def __init__(self, patches: Patches) -> None:
        self.patches = patches
        self._copy: Patches | None = None

    def rows(self, nodes: Tensor | None, device: torch.device) -> Patches:
        """Return the patches of ``nodes`` (all when None) on a device."""
        patches = self._on(device)
        if patches.index.device == device:
            return patches if nodes is None else patches.take(nodes)
        taken = patches if nodes is None else patches.take(nodes.cpu())
        return taken.to(device)

    def _on(self, device: torch.device) -> Patches:
        """Return all patches, on the device unless they are too large for it."""
        size = self.patches.index.nbytes + self.patches.score.nbytes
        if device.type == "cpu" or size > _COPIED_BYTES:
            return self.patches
        if self._copy is None or self._copy.index.device != device:
            self._copy = self.patches.to(device)
        return self._copy
