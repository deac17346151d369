"""Synthetic graphs: the contextual stochastic block model with a chosen heterophily."""

import math

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.splits import random_splits
from herofilter.data.synthetic.block_edges import block_edges
from herofilter.errors import ConfigError, check_choice

COMPATIBILITIES = ("uniform", "cyclic")


def csbm(
    num_nodes: int = 1000,
    num_classes: int = 5,
    heterophily: float = 0.5,
    average_degree: float = 10.0,
    compatibility: str = "uniform",
    directed: bool = False,
    num_features: int = 32,
    feature_signal: float = 1.0,
    power_law: float | None = None,
    seed: int = 0,
    num_splits: int = 10,
) -> Data:
    r"""Sample a graph whose mean node heterophily is ``heterophily``.

    The heterophily of a node is the share of its neighbours with another label, over the
    undirected graph. Each of the :math:`n d / 2` edges takes a source and a partner: of the
    source's class with probability :math:`1 - h`, else of another class. Features are
    :math:`\mathbf{x}_v = s\,\boldsymbol{\mu}_{y_v} + \boldsymbol{\epsilon}` with unit Gaussian
    noise and class means of length one, orthogonal while there are enough dimensions. Classes are
    balanced; there are no self-loops, no duplicates and no isolated nodes.

    Args:
        heterophily: the target :math:`h`, from 0 to 1.
        average_degree: neighbours per node :math:`d`, counted without direction.
        compatibility: the class of a heterophilous partner: ``"uniform"`` over the others, or
            ``"cyclic"``, the next one (so undirected classes touch both of theirs).
        directed: list each edge from source to partner only, instead of both ways.
        num_features: 0 gives a graph without features.
        feature_signal: the factor :math:`s` of the class means.
        power_law: exponent of the degree distribution, above 2; ``None`` for similar degrees.

    Example:
        >>> csbm(num_nodes=200, heterophily=0.8).train_mask.shape
        torch.Size([200, 10])
    """
    _check(num_nodes, num_classes, heterophily, average_degree, compatibility)
    _check_rest(num_features, feature_signal, power_law)
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(num_nodes) % num_classes)
    source, target = block_edges(
        y,
        heterophily,
        average_degree,
        cyclic=compatibility == "cyclic",
        power_law=power_law,
        rng=rng,
    )
    labels = torch.from_numpy(y)
    edge_index = _edge_index(source, target, num_nodes, directed)
    data = Data(edge_index=edge_index, y=labels, num_nodes=num_nodes)
    if num_features:
        data.x = _features(y, num_classes, num_features, feature_signal, rng)
    data.train_mask, data.val_mask, data.test_mask = random_splits(labels, num_splits, seed=seed)
    data.name = "csbm"
    data.variant = f"csbm {compatibility} h={heterophily:g}, random 48/32/20"
    return data


def _edge_index(source: np.ndarray, target: np.ndarray, num_nodes: int, directed: bool) -> Tensor:
    key = source * num_nodes + target
    if not directed:
        key = np.concatenate([key, target * num_nodes + source])
    key.sort()
    edge_index = np.empty((2, key.size), dtype=np.int64)
    np.floor_divide(key, num_nodes, out=edge_index[0])
    np.remainder(key, num_nodes, out=edge_index[1])
    return torch.from_numpy(edge_index)


def _features(
    y: np.ndarray, num_classes: int, size: int, signal: float, rng: np.random.Generator
) -> Tensor:
    directions = rng.standard_normal((num_classes, size))
    if num_classes <= size:
        directions = np.linalg.qr(directions.T)[0].T
    means = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    x = rng.standard_normal((y.size, size), dtype=np.float32)
    x += (signal * means).astype(np.float32)[y]
    return torch.from_numpy(x)


def _check(
    num_nodes: int, num_classes: int, heterophily: float, degree: float, compatibility: str
) -> None:
    check_choice("compatibility", compatibility, COMPATIBILITIES)
    fewest = 3 if compatibility == "cyclic" else 2
    if num_classes < fewest:
        raise ConfigError(
            f"num_classes must be at least {fewest} with compatibility={compatibility!r} "
            f"(got {num_classes})"
        )
    if num_nodes < 3 * num_classes:
        raise ConfigError(
            f"num_nodes must be at least three per class (got {num_nodes} "
            f"for {num_classes} classes)"
        )
    if not 0 <= heterophily <= 1:
        raise ConfigError(f"heterophily must be between 0 and 1 (got {heterophily:g})")
    if not 2 <= degree < math.inf:
        raise ConfigError(
            f"average_degree must be at least 2, so that no node stays isolated (got {degree:g})"
        )
    size = num_nodes // num_classes
    others = 2 * size if compatibility == "cyclic" else num_nodes - size
    rooms = [(1 - heterophily, size - 1), (heterophily, others)]
    most = min(room / share for share, room in rooms if share > 0)
    if degree > most:
        raise ConfigError(
            f"average_degree must be at most {most:g} (got {degree:g}; with "
            f"heterophily={heterophily:g} and classes of {size} nodes there is no room for more)"
        )


def _check_rest(num_features: int, feature_signal: float, power_law: float | None) -> None:
    if num_features < 0:
        raise ConfigError(f"num_features must be 0 or more (got {num_features})")
    if not math.isfinite(feature_signal) or feature_signal < 0:
        raise ConfigError(f"feature_signal must be finite and not negative (got {feature_signal})")
    if power_law is not None and not 2 < power_law < math.inf:
        raise ConfigError(f"power_law must be above 2, or None (got {power_law:g})")
