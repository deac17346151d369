"""Compiled loops over arrays that know nothing of graphs, models or torch."""

from herofilter.kernels.mixing import MixerEnd, mix_patches, padded
from herofilter.kernels.rows import add_walks, multiply_rows

__all__ = ["MixerEnd", "add_walks", "mix_patches", "multiply_rows", "padded"]
