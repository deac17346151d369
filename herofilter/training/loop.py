"""The training loop: one model, one graph, one split."""

import math
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback, notify
from herofilter.config import Config
from herofilter.data import check_graph
from herofilter.data.placement import on_device
from herofilter.devices import CPU, find_device, generator_on
from herofilter.errors import ConfigError
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.dropout import set_generator
from herofilter.nn.embedding import set_row_gradients
from herofilter.nn.graph_defaults import STRONG, resolve_defaults
from herofilter.parallel.threads import is_small, one_thread
from herofilter.settings import TrainConfig
from herofilter.training.artifacts.checkpoint import Checkpoint
from herofilter.training.divergence import divergence
from herofilter.training.metrics import Score, full_score, score
from herofilter.training.optimizers import make_optimizers
from herofilter.training.prefetch import logit_chunks
from herofilter.training.prepare import fit_scaler, prepare_features, prepare_for
from herofilter.training.progress import Epoch as Epoch, Progress
from herofilter.training.seeding import seeded
from herofilter.training.steps import EVAL_BATCH, Steps
from herofilter.training.stopping import EarlyStopping
from herofilter.training.team import Team, TeamSteps

FULL_BATCH_UP_TO = 10_000
LARGE_BATCH = 2048
_SHOWN = ("train_loss", "val_loss", "val_accuracy")


@dataclass(frozen=True)
class TrainResult:
    """What training gave: scores at the best epoch, the history, the time.

    ``report`` has all measures on the test nodes, see
    :func:`~herofilter.training.metrics.full_score`; it is empty when they weren't read.
    ``out_of_time`` says that the deadline ended it.
    """

    train: Score
    val: Score
    test: Score
    best_epoch: int
    seconds: float
    interrupted: bool = False
    history: list[Epoch] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    out_of_time: bool = False


def train(
    model: NodeClassifier,
    data: Data,
    config: TrainConfig | None = None,
    callback: Callback | None = None,
    score_test: bool = True,
    checkpoint: Checkpoint | None = None,
    deadline: float | None = None,
    team: Team | None = None,
) -> TrainResult:
    """Train ``model`` on the graph's split and leave the best state in it.

    Only training labels drive the weights and only validation labels choose the epoch; test
    labels are read once, at the end. Ctrl-C ends training early and keeps the best so far. Where
    ``config.device`` isn't the CPU, model and graph are copied there, and the model comes back.

    Args:
        model: any :class:`~herofilter.nn.NodeClassifier`.
        data: a graph with one-dimensional ``train_mask``, ``val_mask`` and, if the test score is
            wanted, ``test_mask``.
        config: the recommended settings by default.
        callback: takes an event of stage ``epoch`` after every epoch, with ``train_loss``,
            ``val_loss`` and ``val_accuracy``; an exception that it raises ends training.
        score_test: whether to read the test labels at all; without it the test score is NaN.
        checkpoint: where to save the state of training, and to continue from if it was killed; the
            result is then the same as without a stop. Boosted trees, a matter of seconds, begin
            anew.
        deadline: a value of :func:`time.perf_counter` past which no epoch begins but the first.
        team: the processes that train the model together, all of which call this; alone by
            default.

    Example:
        >>> from herofilter import FastPatcher, HeroFilter, csbm, select_split
        >>> data = select_split(csbm(num_nodes=200, num_classes=3, heterophily=0.1), 0)
        >>> model = HeroFilter(32, 3, patcher=FastPatcher(patch_size=8)(data))
        >>> train(model, data, TrainConfig(epochs=30)).test.accuracy > 0.5
        True
    """
    check_graph(data, split_required=True, test_required=score_test)
    config = resolve_defaults(data, Config(train=config or TrainConfig())).train
    device = training_device(model, config.device, team)
    try:
        return _train(model, data, config, callback, score_test, checkpoint, deadline, team, device)
    finally:
        if device != CPU:
            model.to(CPU)


def training_device(model: NodeClassifier, name: str, team: Team | None = None) -> torch.device:
    """Return where a model is trained: trees are grown on the CPU, and teams train there."""
    device = find_device(name)
    if team is not None and device != CPU:
        raise ConfigError(
            f"device must be cpu where several processes train together (got {device.type}); "
            "set device=cpu"
        )
    return CPU if model.boosted else device


def _train(
    model: NodeClassifier,
    data: Data,
    config: TrainConfig,
    callback: Callback | None,
    score_test: bool,
    checkpoint: Checkpoint | None,
    deadline: float | None,
    team: Team | None,
    device: torch.device,
) -> TrainResult:
    given = data
    data = _scale(model, data, config.feature_scaling, device)
    train_nodes = data.train_mask.nonzero().view(-1)
    known = data.y.masked_fill(~data.train_mask, -1)
    model.show_labels(known)
    started = time.perf_counter()
    stopping = EarlyStopping(config.monitor, config.patience or STRONG.patience)
    if model.boosted:
        # not imported to train, or use, anything else
        from herofilter.training.boosting import boosting_rounds, boosting_stopping

        stopping = boosting_stopping(config)
    batch_size = _batch_size(model, train_nodes.numel(), config.batch_size)
    interrupted = False
    small = is_small(int(data.num_nodes or 0))
    with seeded(config.seed, device) as generator, one_thread(small):
        noise = None if device == CPU else generator_on(device, config.seed)
        in_parts = batch_size < train_nodes.numel() and not model.full_batch
        # elsewhere they are dense: not every device has sparse tensors
        tables = set_row_gradients(model, device == CPU) if in_parts else []
        optimizers = make_optimizers(model, config, tables)
        set_generator(model, noise or generator)
        progress = Progress(model, optimizers, stopping, generator, noise=noise)
        parts = (model, data, config, train_nodes, optimizers)
        steps = Steps(*parts) if team is None else TeamSteps(team, *parts)
        try:
            model.start_filter(known)
            if checkpoint is not None:
                checkpoint.start(progress, given)
            epochs = _epochs(progress, steps, batch_size, checkpoint, deadline)
            if model.boosted:
                epochs = boosting_rounds(model, progress, data, config, deadline)
            for epoch in epochs:
                metrics = {key: getattr(epoch, key) for key in _SHOWN}
                notify(callback, "epoch", epoch.epoch + 1, config.epochs, values=metrics)
                # the patches of the last weights are still to be chosen
                if deadline is not None and _past(deadline - model.refresh_seconds):
                    break
        except KeyboardInterrupt:
            interrupted = True
            if not progress.history or team is not None:
                raise
        finally:
            set_generator(model, None)
            set_row_gradients(model, False)
        stopping.restore(model)
        train_score, val_score = (
            _score(steps, mask.nonzero().view(-1)) for mask in (data.train_mask, data.val_mask)
        )
        test_score, report = Score(float("nan"), float("nan")), {}
        if score_test:
            test_nodes = data.test_mask.nonzero().view(-1)
            logits = steps.logits(test_nodes)
            test_labels = data.y[test_nodes].cpu()
            test_score = score(logits, test_labels, with_auc=True)
            report = full_score(logits, test_labels)
    return TrainResult(
        train=train_score,
        val=val_score,
        test=test_score,
        best_epoch=stopping.best_epoch,
        seconds=time.perf_counter() - started + (checkpoint.earlier if checkpoint else 0.0),
        interrupted=interrupted,
        history=progress.history,
        report=report,
        out_of_time=not interrupted and not _is_over(progress, config),
    )


def predict_logits(model: NodeClassifier, data: Data, nodes: Tensor | None = None) -> Tensor:
    """Return logits of ``nodes`` (all when None), with features treated as in training."""
    return torch.cat(list(stream_logits(model, data, nodes)))


def stream_logits(
    model: NodeClassifier, data: Data, nodes: Tensor | None = None
) -> Iterator[Tensor]:
    """Yield what :func:`predict_logits` returns, some nodes at a time."""
    with one_thread(is_small(int(data.num_nodes or 0))):
        ready = prepare_for(model, data)
    yield from stream_ready(model, ready, nodes)


def stream_ready(
    model: NodeClassifier, ready: Data, nodes: Tensor | None = None
) -> Iterator[Tensor]:
    """Yield the logits of a graph that :func:`~herofilter.training.prepare.prepare_for` returned.

    What many calls have in common is then computed once.
    """
    small = is_small(int(ready.num_nodes or 0))
    with closing(logit_chunks(model, ready, nodes, EVAL_BATCH)) as chunks:
        while True:
            # not around the yield: the caller's code may use several threads
            with one_thread(small or model.in_parallel, parallel=True):
                logits = next(chunks, None)
            if logits is None:
                return
            yield logits


def evaluate(model: NodeClassifier, data: Data, nodes: Tensor) -> Score:
    """Return the model's score on ``nodes``."""
    return score(predict_logits(model, data, nodes), data.y[nodes], with_auc=True)


def _scale(model: NodeClassifier, data: Data, scaling: str, device: torch.device) -> Data:
    """Return the graph as the model sees it, and move both to a device.

    What scales the features becomes part of the model.
    """
    model.feature_scaling, model.scaler = scaling, None
    data = model.scale_features(prepare_features(on_device(data, CPU), scaling, model.by_rows))
    # degrees, which stand in for absent features, are standardised already
    if scaling == "standard" and not data.get("featureless", False):
        model.scaler = fit_scaler(data.x, data.train_mask.nonzero().view(-1))
    model.to(device)
    return model.scale_features(on_device(data, device))


def _score(steps: Steps, nodes: Tensor, with_auc: bool = True) -> Score:
    return score(steps.logits(nodes), steps.data.y[nodes].cpu(), with_auc)


def _epochs(
    progress: Progress,
    steps: Steps,
    batch_size: int,
    checkpoint: Checkpoint | None,
    deadline: float | None,
) -> Iterator[Epoch]:
    model, stopping = progress.model, progress.stopping
    config, train_nodes = steps.config, steps.train_nodes
    val_nodes = steps.data.val_mask.nonzero().view(-1)
    while not _is_over(progress, config):
        number = progress.epoch
        # one choice now and one at the end must fit
        in_time = deadline is None or not _past(deadline - 2 * model.refresh_seconds)
        if progress.step == 0 and _may_refresh(number, config) and in_time:
            model.refresh()
            progress.filters = model.filter_snapshot() or None
        model.train()
        parts = progress.batches(train_nodes, batch_size)
        with closing(steps.epoch(number, progress.step, parts)) as losses:
            for loss in losses:
                progress.end_step(loss)
                if checkpoint is not None:
                    checkpoint.offer()
        if not math.isfinite(progress.loss):
            stopping.restore(model)
            raise divergence(progress.loss, number, config.lr, steps.data)
        val = _score(steps, val_nodes, config.monitor == "auc")
        stopping.update(number, val, model)
        loss = progress.loss / train_nodes.numel()
        epoch = Epoch(number, loss, val.loss, val.accuracy, progress.filters)
        progress.history.append(epoch)
        yield epoch
        progress.end_epoch()
        if checkpoint is not None:
            checkpoint.offer()


def _past(deadline: float) -> bool:
    return time.perf_counter() >= deadline


def _is_over(progress: Progress, config: TrainConfig) -> bool:
    done = len(progress.history)
    return done >= config.epochs or progress.stopping.is_over(done - 1)


def _may_refresh(epoch: int, config: TrainConfig) -> bool:
    rounds, rest = divmod(epoch, config.refresh_every)
    # each choice holds twice as long as the one before it: 1, 3, 7, … times the first
    due = rounds > 0 and rest == 0 and (rounds & (rounds + 1)) == 0
    return due and config.learn_filter and (not config.freeze_after or epoch <= config.freeze_after)


def _batch_size(model: NodeClassifier, count: int, wanted: int) -> int:
    full_batch = model.full_batch or count <= FULL_BATCH_UP_TO
    return wanted or (count if full_batch else LARGE_BATCH)
