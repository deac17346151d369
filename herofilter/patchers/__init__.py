"""Graph in, patches out."""

from herofilter.patchers.fast import FastPatcher
from herofilter.patchers.patches import Patches, Slot
from herofilter.patchers.spectral import SpectralPatcher
from herofilter.patchers.summary import RelationSummary

__all__ = ["FastPatcher", "Patches", "RelationSummary", "Slot", "SpectralPatcher"]
