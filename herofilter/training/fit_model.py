"""One model from one graph: trained, calibrated and measured, without a search."""

import copy
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import random_splits
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.read_graph import TableGraph
from herofilter.errors import ConfigError, GraphError
from herofilter.nn import NodeClassifier, find_model
from herofilter.nn.build import resolve
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.weights import weights_of
from herofilter.training.calibration import fit_temperature
from herofilter.training.loop import TrainResult, predict_logits
from herofilter.training.metrics import full_score
from herofilter.training.prepare import prepare
from herofilter.training.protocol import train_split
from herofilter.training.search.portfolio import portfolio
from herofilter.training.search.portfolio_run import PortfolioRun
from herofilter.training.search.space import PATCHED
from herofilter.training.seeding import seeded


@dataclass(frozen=True)
class FittedModel:
    """A trained model to keep, and its network for the graph as it was prepared."""

    saved: SavedModel
    network: NodeClassifier
    prepared: Data


def fit_model(
    data: Data,
    classes: tuple[str | int | bool, ...],
    model: str = "auto",
    config: Config | None = None,
    calibrate: bool = True,
) -> FittedModel:
    """Train one model on the split that the graph has.

    Only labels at ``train_mask`` and ``val_mask`` are read. The former drive the weights; the
    latter choose the epoch, with ``auto`` the member of the portfolio, and the temperature.

    Args:
        data: a graph with class numbers in ``y`` and one-dimensional masks.
        classes: what class 0, 1, … is called.
        model: a registered model, or ``auto``.
        config: the settings; recommended ones by default.
        calibrate: whether to fit a temperature; else it is 1.

    Example:
        >>> from herofilter.data import csbm
        >>> data = with_validation(csbm(num_nodes=100, num_classes=3), 0.2)
        >>> fit = fit_model(data, ("a", "b", "c"), "mlp", Config().replace(epochs=5))
        >>> fit.saved.predict_proba(data).shape
        torch.Size([100, 3])
    """
    config = config or Config()
    data, trained = _with_test(data)
    name, settings, result, network, prepared = _train(trained, model, config)
    # the patches are then those of the weights that are kept
    network.refresh()
    parts = {
        part: (predict_logits(network, prepared, nodes), data.y[nodes])
        for part in ("train", "val")
        for nodes in [data[f"{part}_mask"].nonzero().view(-1)]
    }
    temperature = fit_temperature(*parts["val"]) if calibrate else 1.0
    ids = pa.array(np.arange(int(data.num_nodes or 0)))
    saved = SavedModel(
        model=name,
        config=settings,
        in_channels=int(prepared.num_features),
        classes=classes,
        state=weights_of(network),
        temperature=temperature,
        history=[asdict(epoch) for epoch in result.history],
        metrics={
            "best_epoch": result.best_epoch,
            "seconds": result.seconds,
            **{part: full_score(logits / temperature, y) for part, (logits, y) in parts.items()},
        },
        graph=TableGraph(data, ids, classes, FeatureEncoder(()), ()),
        resolved=name in PATCHED,
    )
    return FittedModel(saved, network, prepared)


def with_validation(data: Data, fraction: float, seed: int = 0) -> Data:
    """Return a shallow copy whose masks share out the labelled nodes, class by class.

    A share ``fraction`` is for validation and the rest for training; a class of one or two nodes
    is for training only.

    Example:
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


def _train(
    data: Data, model: str, config: Config
) -> tuple[str, Config, TrainResult, NodeClassifier, Data]:
    if model == "auto":
        run = PortfolioRun(data, 0)
        run.run(
            [
                replace(member, config=_resolved(data, member.model, member.config))
                for member in portfolio(data, config)
            ]
        )
        best = run.best
        model, config = best.member.model, best.member.config
        prepared = prepare(data, config, model)
        with seeded(config.train.seed):
            network = find_model(model).build(prepared, config)
        network.feature_scaling = config.train.feature_scaling
        network.load_state_dict(best.state)
        return model, config, best.result, network, prepared
    config = _resolved(data, model, config)
    prepared = prepare(data, config, model)
    network, result = train_split(prepared, model, config, 0, score_test=False)
    if result.interrupted:
        raise KeyboardInterrupt
    return model, config, result, network, prepared


def _resolved(data: Data, model: str, config: Config) -> Config:
    """Return a configuration that builds a model of the same shape for any graph."""
    if model == "fast-herofilter":
        config = config.replace(patcher="fast")
    return resolve(data, config) if model in PATCHED else resolve_defaults(data, config)


def _with_test(data: Data) -> tuple[Data, Data]:
    """Return the graph to keep, and one to train on with a test part, whose labels aren't read.

    Training asks for a test part. Where there is none, a node that is in no part stands in; and
    where every node is in use, the commonest class spares one.
    """
    test = data.get("test_mask")
    if test is not None and bool(test.any()):
        return data, data
    data = copy.copy(data)
    spare = ~(data.train_mask | data.val_mask)
    if not bool(spare.any()):
        spare = data.train_mask & (data.y == torch.bincount(data.y[data.train_mask]).argmax())
    test = torch.zeros_like(spare)
    test[spare.nonzero()[0]] = True
    data.train_mask = data.train_mask & ~test
    trained = copy.copy(data)
    trained.y, trained.test_mask = data.y.masked_fill(test & (data.y < 0), 0), test
    return data, trained
