"""HeroFilter: node classification with learned spectral patches and an MLP-Mixer."""

from typing import TYPE_CHECKING, Any

from herofilter import baselines as baselines
from herofilter.config import Config, paper_config
from herofilter.data import (
    OwnGraph,
    check_graph,
    csbm,
    list_datasets,
    load_dataset,
    read_graph,
    select_split,
)
from herofilter.errors import HeroFilterError
from herofilter.nn import HeroFilter, find_model, list_models
from herofilter.patchers import (
    FastPatcher,
    Patches,
    PatchStore,
    SpectralPatcher,
    write_patches,
)
from herofilter.settings import BaselineConfig, ModelConfig, PatcherConfig, TrainConfig
from herofilter.training import (
    TrainResult,
    predict_logits,
    train,
    train_auto,
    train_splits,
    tune,
)
from herofilter.training.model_folder import SavedModel

if TYPE_CHECKING:
    from herofilter.estimator import HeroFilterClassifier

__version__ = "0.1.0"

__all__ = [
    "BaselineConfig",
    "Config",
    "FastPatcher",
    "HeroFilter",
    "HeroFilterClassifier",
    "HeroFilterError",
    "ModelConfig",
    "OwnGraph",
    "PatchStore",
    "PatcherConfig",
    "Patches",
    "SavedModel",
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
    "read_graph",
    "select_split",
    "train",
    "train_auto",
    "train_splits",
    "tune",
    "write_patches",
]


def __getattr__(name: str) -> Any:
    if name == "HeroFilterClassifier":
        # scikit-learn, where it is installed, is slow to import and only the estimator needs it
        from herofilter.estimator import HeroFilterClassifier

        return HeroFilterClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
