"""Growing boosted trees: rounds with scikit-learn, stopped by validation or by the time."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from herofilter.baselines.booster import Booster
from herofilter.errors import MissingExtraError
from herofilter.nn.classifier import NodeClassifier
from herofilter.parallel.threads import is_small
from herofilter.settings import TrainConfig
from herofilter.training.bins import Bins
from herofilter.training.metrics import Score, class_weights, score
from herofilter.training.progress import Epoch, Progress
from herofilter.training.stopping import EarlyStopping

LEARNING_RATE = 0.1
PATIENCE = 10
# of wide tables, in which finding the best of all thresholds would take most of the time
WIDE, FEW_BINS, MOST_BINS = 64, 31, 255
_FEW_ROUNDS, _MANY_ROUNDS = 10, 50


def boosting_stopping(config: TrainConfig) -> EarlyStopping:
    """Return what chooses the number of rounds on validation nodes.

    That is the loss, which is far less noisy than the accuracy of one tree more or less, or the
    AUC if that is monitored. It stops after ``patience`` rounds without improvement, at most 10.
    """
    monitor = "auc" if config.monitor == "auc" else "loss"
    return EarlyStopping(monitor, min(config.patience or PATIENCE, PATIENCE))


def boosting_rounds(
    model: NodeClassifier,
    progress: Progress,
    data: Data,
    config: TrainConfig,
    deadline: float | None = None,
) -> Iterator[Epoch]:
    """Grow the trees of ``model`` and yield an epoch per round, a tree of each score.

    scikit-learn continues with what it has grown so far (``warm_start``), a few rounds at a time;
    how many doesn't change the trees. The settings are scikit-learn's own, but a leaf has at least
    5 nodes where training nodes are few (a 200th of them, 20 at most), and tables of more than 64
    columns get 31 bins; validation on Texas, Wisconsin, Chameleon and Cora preferred or didn't mind
    both. Of ``config`` these count: ``epochs`` (rounds at most), ``patience``, ``monitor``,
    ``class_weights`` and ``seed``.

    Args:
        model: what is trained; after each round it has all trees so far.
        progress: takes the history, and has the ``stopping`` that keeps the best state.
        data: the graph, prepared, with one-dimensional masks.
        config: the settings.
        deadline: a value of :func:`time.perf_counter`; no rounds begin that would likely end after
            it, except the first.
    """
    if not isinstance(model, Booster):
        raise TypeError(f"only a Booster has trees to grow (got {type(model).__name__})")
    train_nodes, val_nodes = (mask.nonzero().view(-1) for mask in (data.train_mask, data.val_mask))
    model.choose(data, train_nodes)
    tables = [model.table(data, nodes) for nodes in (train_nodes, val_nodes)]
    y, val_y = data.y[train_nodes], data.y[val_nodes]
    seconds, began = 0.0, time.perf_counter()
    grower = _Grower(model, tables[0], y.numpy(), config)
    scores = [np.tile(model.trees.start.numpy(), (len(table), 1)) for table in tables]
    weight = class_weights(y, model.out_channels) if config.class_weights else None
    stopping, history = progress.stopping, progress.history
    while len(history) < config.epochs and not stopping.is_over(len(history) - 1):
        done = len(history)
        # each call of scikit-learn adds up all earlier trees again, so calls become rarer
        wanted = min(max(_FEW_ROUNDS, done // 2), _MANY_ROUNDS)
        left = stopping.best_epoch + stopping.patience + 1 - done
        count = min(wanted, left, config.epochs - done)
        if deadline is not None:
            # the first round shows how long one takes
            count = min(count, int((deadline - began) / seconds)) if done else 1
            if count < 1:
                return
        for trees in grower.grow(count):
            model.trees.append(trees)
            for table, total in zip(tables, scores, strict=True):
                model.trees.add_scores(table, total, since=model.trees.rounds - 1)
            train_logits, logits = (model.trees.logits(total) for total in scores)
            val = score(logits, val_y, with_auc=stopping.monitor == "auc")
            # as the trees see it: with weights the plain loss would prefer few rounds
            loss = float(cross_entropy(logits, val_y, weight))
            number = len(history)
            stopping.update(number, Score(val.accuracy, loss, val.auc), model)
            train_loss = float(cross_entropy(train_logits, y, weight))
            history.append(Epoch(number, train_loss, val.loss, val.accuracy))
            yield history[-1]
        now = time.perf_counter()
        seconds, began = (now - began) / count, now


class _Grower:
    """scikit-learn's booster for one table, which grows some rounds at a time."""

    def __init__(
        self, model: Booster, table: np.ndarray, y: np.ndarray, config: TrainConfig
    ) -> None:
        self.bins = Bins.of(table, FEW_BINS if table.shape[1] > WIDE else MOST_BINS)
        self.table, self.y = self.bins.numbers(table), y
        self.small = is_small(len(table))
        self.weight: np.ndarray | None = None
        if config.class_weights:
            per_class = class_weights(torch.from_numpy(y), model.out_channels)
            self.weight = per_class.double().numpy()[y]
        self.estimator = _estimator(config.seed, y.size)
        classes = torch.from_numpy(np.unique(y))
        self.alone = classes.numel() < 2
        start = np.empty(0)
        self.waiting: list[list[np.ndarray]] = []
        if not self.alone:
            self.waiting = self._fit(1)
            start = self.estimator._baseline_prediction.reshape(-1)
        model.trees.clear(classes, y.size, start, table.shape[1])

    def grow(self, count: int) -> list[list[np.ndarray]]:
        """Return the nodes of the trees of ``count`` more rounds; no trees for a single class."""
        if self.alone:
            return [[] for _ in range(count)]
        ready, self.waiting = self.waiting[:count], self.waiting[count:]
        return ready + (self._fit(count - len(ready)) if count > len(ready) else [])

    def _fit(self, count: int) -> list[list[np.ndarray]]:
        grown = len(getattr(self.estimator, "_predictors", ()))
        self.estimator.set_params(max_iter=grown + count)
        # with several threads sums are added in another order
        with threadpool_limits(1 if self.small else None, user_api="openmp"):
            self.estimator.fit(self.table, self.y, self.weight)
        rounds = self.estimator._predictors[grown:]
        return [[self.bins.with_thresholds(tree.nodes) for tree in trees] for trees in rounds]


def _estimator(seed: int, num_rows: int) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError as error:
        raise MissingExtraError("tables", "training a booster") from error
    return HistGradientBoostingClassifier(
        learning_rate=LEARNING_RATE,
        min_samples_leaf=min(max(num_rows // 200, 5), 20),
        early_stopping=False,
        warm_start=True,
        random_state=seed,
    )
