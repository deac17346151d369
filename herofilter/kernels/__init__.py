"""Compiled loops over arrays that know nothing of graphs, models or torch."""

from herofilter.kernels.mixing import MixerEnd, MixerWeights, fold_weights, mix_patches
from herofilter.kernels.rows import WALKS, add_walks, layer_columns, multiply_rows

__all__ = [
    "WALKS",
    "MixerEnd",
    "MixerWeights",
    "add_walks",
    "fold_weights",
    "layer_columns",
    "mix_patches",
    "multiply_rows",
]
