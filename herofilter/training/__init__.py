"""Training: the loop, the protocol over splits, and what a run leaves behind."""

from herofilter.training.auto import train_auto
from herofilter.training.loop import Epoch, TrainResult, evaluate, predict_logits, train
from herofilter.training.metrics import Score
from herofilter.training.prepare import prepare, prepare_features
from herofilter.training.protocol import default_workers, train_splits
from herofilter.training.seeding import seeded
from herofilter.training.tuning import tune

__all__ = [
    "Epoch",
    "Score",
    "TrainResult",
    "default_workers",
    "evaluate",
    "predict_logits",
    "prepare",
    "prepare_features",
    "seeded",
    "train",
    "train_auto",
    "train_splits",
    "tune",
]
