"""Training: the loop, the protocol over splits, and what a run leaves behind."""

from herofilter.training.loop import Epoch, TrainResult, evaluate, predict_logits, train
from herofilter.training.metrics import Score
from herofilter.training.prepare import prepare, prepare_features
from herofilter.training.protocol import train_splits
from herofilter.training.seeding import seeded

__all__ = [
    "Epoch",
    "Score",
    "TrainResult",
    "evaluate",
    "predict_logits",
    "prepare",
    "prepare_features",
    "seeded",
    "train",
    "train_splits",
]
