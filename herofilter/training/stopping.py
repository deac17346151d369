"""Early stopping that keeps a copy of the best state."""

from collections.abc import Mapping

from torch import Tensor, nn

from herofilter.training.metrics import Score


class EarlyStopping:
    """Remember the best epoch on validation and say when patience has run out.

    Args:
        monitor: ``accuracy`` or ``auc`` (ties go to the lower loss), or ``loss``. A score without
            an AUC, for lack of a second class, ties with all others.
        patience: epochs without improvement that are allowed.
    """

    def __init__(self, monitor: str, patience: int) -> None:
        self.monitor, self.patience = monitor, patience
        self.best_epoch = -1
        self.best = Score(float("-inf"), float("inf"))
        self.state: dict[str, Tensor] = {}

    def update(self, epoch: int, score: Score, model: nn.Module) -> bool:
        """Take in an epoch's validation score; return whether training should stop."""
        if self.best_epoch < 0 or self._rank(score) > self._rank(self.best):
            self.best_epoch, self.best = epoch, score
            self.state = {key: self._copy(key, value) for key, value in model.state_dict().items()}
        return self.is_over(epoch)

    def is_over(self, epoch: int) -> bool:
        """Return whether patience has run out after ``epoch``."""
        return epoch - self.best_epoch >= self.patience

    def restore(self, model: nn.Module) -> None:
        """Put the best state back into ``model``."""
        if self.state:
            model.load_state_dict(self.state)

    def resume(self, best_epoch: int, best: Score, state: Mapping[str, Tensor]) -> None:
        """Restore the best epoch of a training that was stopped."""
        self.best_epoch, self.best, self.state = best_epoch, best, dict(state)

    def _copy(self, key: str, value: Tensor) -> Tensor:
        # a copy: on a CPU the state dict is the live weights themselves
        before = self.state.get(key)
        if before is None or before.shape != value.shape or before.dtype != value.dtype:
            return value.clone()
        # over the last best one, as a large table should not be there twice meanwhile
        return before.copy_(value)

    def _rank(self, score: Score) -> tuple[float, float]:
        watched = {"accuracy": score.accuracy, "auc": score.auc or 0.0, "loss": 0.0}
        return watched[self.monitor], -score.loss
