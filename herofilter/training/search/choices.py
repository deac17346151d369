"""What a fit can be asked for by name; read before anything heavy is imported."""

from herofilter.errors import check_choice

CONTENDER_NAMES = (
    "majority",
    "booster",
    "mlp",
    "neighbour-booster",
    "gcn",
    "herofilter",
    "herofilter-labels",
)
# what a user calls a measure, and what metrics call it
METRICS = {
    "accuracy": "accuracy",
    "balanced": "balanced_accuracy",
    "f1": "macro_f1",
    "auc": "auc",
    "ap": "average_precision",
}


def check_contender(model: str) -> None:
    """Raise a :class:`ConfigError` unless ``model`` is a contender or ``auto``."""
    check_choice("model", model, ("auto", *CONTENDER_NAMES))


def check_metric(metric: str) -> None:
    """Raise a :class:`ConfigError` unless validation can choose by ``metric``."""
    check_choice("metric", metric, tuple(METRICS))
