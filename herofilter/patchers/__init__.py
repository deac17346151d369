"""Graph in, patches out."""

from herofilter.patchers.fast import FastPatcher
from herofilter.patchers.patches import Patches, Slot
from herofilter.patchers.spectral import SpectralPatcher
from herofilter.patchers.store import PatchStore
from herofilter.patchers.storing import write_patches
from herofilter.patchers.summary import RelationSummary
from herofilter.patchers.transform import AddPatches

__all__ = [
    "AddPatches",
    "FastPatcher",
    "PatchStore",
    "Patches",
    "RelationSummary",
    "Slot",
    "SpectralPatcher",
    "write_patches",
]
