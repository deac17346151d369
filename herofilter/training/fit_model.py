"""One model from one graph: trained, calibrated and measured, without a search."""

import copy
from dataclasses import replace

import numpy as np
import pyarrow as pa
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import random_splits
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.read_graph import TableGraph
from herofilter.errors import ConfigError, GraphError
from herofilter.training.metrics import full_score
from herofilter.training.predictor import Predictor
from herofilter.training.recipe import PreparedGraphs, Trained, fit_split, make_predictor, settle
from herofilter.training.search.portfolio import portfolio
from herofilter.training.search.portfolio_run import PortfolioRun


def fit_model(
    data: Data,
    classes: tuple[str | int | bool, ...],
    model: str = "auto",
    config: Config | None = None,
    calibrate: bool = True,
    encoder: FeatureEncoder | None = None,
) -> Predictor:
    """Train one model on the split that the graph has.

    Only labels at ``train_mask`` and ``val_mask`` are read. The former drive the weights; the
    latter choose the epoch, with ``auto`` the member of the portfolio, and the temperature.

    Args:
        data: a graph with class numbers in ``y`` and one-dimensional masks.
        classes: what class 0, 1, … is called.
        model: a registered model, or ``auto``.
        config: the settings; recommended ones by default.
        calibrate: whether to fit a temperature; else it is 1.
        encoder: how a table of nodes became the features, if it did.

    Example:
        >>> from herofilter.data import csbm
        >>> data = with_validation(csbm(num_nodes=100, num_classes=3), 0.2)
        >>> model = fit_model(data, ("a", "b", "c"), "mlp", Config().replace(epochs=5))
        >>> model.predict_proba().shape
        torch.Size([100, 3])
    """
    trained = _train(PreparedGraphs(data, len(classes)), model, config or Config())
    ids = pa.array(np.arange(int(data.num_nodes or 0)))
    graph = TableGraph(data, ids, classes, encoder or FeatureEncoder(()))
    predictor = make_predictor(trained, graph, encoder, calibrate)
    scores = {
        part: full_score(logits / predictor.temperature, y)
        for part in ("train", "val")
        for logits, y in [trained.logits(part)]
    }
    result = trained.result
    metrics = {"best_epoch": result.best_epoch, "seconds": result.seconds, **scores}
    return predictor.with_saved(replace(predictor.saved, metrics=metrics))


def with_validation(data: Data, fraction: float, seed: int = 0) -> Data:
    """Return a shallow copy whose masks share out the labelled nodes, class by class.

    A share ``fraction`` is for validation and the rest for training; a class of one or two nodes
    is for training only.

    Example:
        >>> import torch
        >>> data = Data(y=torch.tensor([0] * 10 + [1] * 20 + [-1]), num_nodes=31)
        >>> data = with_validation(data, 0.2)
        >>> int(data.train_mask.sum()), int(data.val_mask.sum())
        (24, 6)
    """
    if not 0 < fraction < 1:
        raise ConfigError(f"val_fraction must be above 0 and below 1 (got {fraction:g})")
    rest = (1 - fraction) / 2
    train, val, more = (
        mask[:, 0] for mask in random_splits(data.y, 1, (rest, fraction, rest), seed)
    )
    if not bool(val.any()):
        raise GraphError(
            "y must have at least three nodes of some class, so that one can be set aside for "
            f"validation (got {int((data.y >= 0).sum())} labelled nodes); label more nodes"
        )
    result = copy.copy(data)
    result.train_mask, result.val_mask = train | more, val
    if "test_mask" in result:
        del result.test_mask
    return result


def _train(graphs: PreparedGraphs, model: str, config: Config) -> Trained:
    data = graphs.data
    if model == "auto":
        run = PortfolioRun(graphs, 0)
        members = portfolio(data, config)
        run.run([replace(one, config=settle(data, one.model, one.config)) for one in members])
        return run.trained
    trained = fit_split(graphs, model, settle(data, model, config))
    if trained.result.interrupted:
        raise KeyboardInterrupt
    return trained
