"""Early stopping that keeps a copy of the best state."""

from torch import Tensor, nn

from herofilter.training.metrics import Score


class EarlyStopping:
    """Remember the best epoch on validation and say when patience has run out.

    Args:
        monitor: ``accuracy`` (ties go to the lower loss) or ``loss``.
        patience: epochs without improvement that are allowed.
    """

    def __init__(self, monitor: str, patience: int) -> None:
        self.monitor, self.patience = monitor, patience
        self.best_epoch = -1
        self.best = Score(float("-inf"), float("inf"))
        self._state: dict[str, Tensor] = {}

    def update(self, epoch: int, score: Score, model: nn.Module) -> bool:
        """Take in an epoch's validation score; return whether training should stop."""
        if self.best_epoch < 0 or self._rank(score) > self._rank(self.best):
            self.best_epoch, self.best = epoch, score
            # clones: on a CPU the state dict is the live weights themselves
            self._state = {key: value.clone() for key, value in model.state_dict().items()}
        return epoch - self.best_epoch >= self.patience

    def restore(self, model: nn.Module) -> None:
        """Put the best state back into ``model``."""
        if self._state:
            model.load_state_dict(self._state)

    def _rank(self, score: Score) -> tuple[float, float]:
        accuracy = score.accuracy if self.monitor == "accuracy" else 0.0
        return accuracy, -score.loss
