"""HeroFilter: node classification with learned spectral patches and an MLP-Mixer."""

from herofilter import baselines as baselines
from herofilter.config import Config, ModelConfig, PatcherConfig, TrainConfig, paper_config
from herofilter.data import check_graph, csbm, list_datasets, load_dataset, select_split
from herofilter.errors import HeroFilterError
from herofilter.nn import HeroFilter, find_model, list_models
from herofilter.patchers import FastPatcher, Patches, SpectralPatcher
from herofilter.training import (
    TrainResult,
    predict_logits,
    train,
    train_auto,
    train_splits,
    tune,
)

__version__ = "0.1.0"

__all__ = [
    "Config",
    "FastPatcher",
    "HeroFilter",
    "HeroFilterError",
    "ModelConfig",
    "PatcherConfig",
    "Patches",
    "SpectralPatcher",
    "TrainConfig",
    "TrainResult",
    "check_graph",
    "csbm",
    "find_model",
    "list_datasets",
    "list_models",
    "load_dataset",
    "paper_config",
    "predict_logits",
    "select_split",
    "train",
    "train_auto",
    "train_splits",
    "tune",
]
