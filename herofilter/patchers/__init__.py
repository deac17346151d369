"""Graph in, patches out."""

from herofilter.patchers.fast import FastPatcher
from herofilter.patchers.patches import Patches, Slot
from herofilter.patchers.spectral import SpectralPatcher
from herofilter.patchers.summary import RelationSummary
from herofilter.patchers.transform import AddPatches

__all__ = ["AddPatches", "FastPatcher", "Patches", "RelationSummary", "Slot", "SpectralPatcher"]
