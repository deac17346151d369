"""HeroFilter as a classifier with scikit-learn's interface."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data.tables.arrays import bare_graph, graph_from_arrays, node_tensor, same_graph
from herofilter.data.tables.label_arrays import encode_labels, read_labels
from herofilter.errors import ConfigError, GraphError, check_choice
from herofilter.estimator.sklearn_contract import Parameters, classifier_base, not_fitted
from herofilter.nn import NodeClassifier, list_models
from herofilter.training.fit_model import fit_model, with_validation
from herofilter.training.predictor import Predictor

if TYPE_CHECKING:
    Base = Parameters
else:
    Base = classifier_base()

_MASKS = ("train_mask", "val_mask")
_SHARED = ("hidden_channels", "lr", "epochs", "patience")
_OF_ONE_MODEL = (
    "patcher",
    "patch_size",
    "num_layers",
    "dropout",
    "aggregation",
    "weight_decay",
)


class HeroFilterClassifier(Base):
    """A classifier of nodes with ``fit``, ``predict``, ``predict_proba`` and ``score``.

    ``fit`` takes the graph in one of three forms: a feature matrix and ``edge_index``, with one
    label per node; a PyG ``Data``; or, with ``graph`` set, node indices and their labels, which
    is the form for ``cross_val_score`` and ``GridSearchCV``. Nodes without a label (None, NaN, or
    -1 among integers) contribute their features and edges. No labels are read but those given to
    ``fit``. Features are used as they are.

    Args:
        graph: the graph whose nodes X indexes; its labels are ignored.
        model: a registered model, or ``auto``, which trains a portfolio and keeps the model with
            the best validation; with a setting that the portfolio chooses itself (those from
            ``patcher`` to ``weight_decay`` below) it is HeroFilter.
        hidden_channels: width; None stands for the recommended value, as in all settings below.
        lr: learning rate.
        epochs: maximum number of epochs.
        patience: epochs without improvement before training stops.
        patcher: ``auto``, ``polynomial``, ``local``, ``spectral`` or ``fast``.
        patch_size: nodes in a patch, the node itself included.
        num_layers: mixer blocks.
        dropout: inside the mixer and before the head.
        aggregation: how a patch is reduced to one vector.
        weight_decay: of the weights.
        class_weights: weigh classes inversely to their frequency.
        val_fraction: share of the labelled nodes that is held out to choose epoch and temperature.
        calibrate: divide logits by a temperature fitted on validation nodes.
        random_state: seed of the validation part and of training; None chooses one at random.

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=100, num_classes=3)
        >>> labels = np.array(["red", "green", "blue"])[data.y]
        >>> classifier = HeroFilterClassifier(graph=data, model="mlp", epochs=20)
        >>> classifier.fit(range(80), labels[:80]).predict_proba([80, 81]).shape
        (2, 3)
    """

    def __init__(
        self,
        *,
        graph: Data | None = None,
        model: str = "auto",
        hidden_channels: int | None = None,
        lr: float | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        patcher: str | None = None,
        patch_size: int | None = None,
        num_layers: int | None = None,
        dropout: float | None = None,
        aggregation: str | None = None,
        weight_decay: float | None = None,
        class_weights: bool = False,
        val_fraction: float = 0.2,
        calibrate: bool = True,
        random_state: int | None = 0,
    ) -> None:
        self.graph = graph
        self.model = model
        self.hidden_channels = hidden_channels
        self.lr = lr
        self.epochs = epochs
        self.patience = patience
        self.patcher = patcher
        self.patch_size = patch_size
        self.num_layers = num_layers
        self.dropout = dropout
        self.aggregation = aggregation
        self.weight_decay = weight_decay
        self.class_weights = class_weights
        self.val_fraction = val_fraction
        self.calibrate = calibrate
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, edge_index: Any = None, edge_weight: Any = None) -> Self:
        """Train on a feature matrix with edges, on node indices of ``graph``, or on a ``Data``.

        The masks of a ``Data`` say which labels are for training and which for validation;
        those of its test nodes aren't read.
        """
        seed = self._seed()
        data, labels = self._training_graph(X, y, edge_index, edge_weight)
        classes, data.y = encode_labels(labels)
        masks = [X.get(name) if isinstance(X, Data) else None for name in _MASKS]
        if all(mask is not None for mask in masks):
            data.train_mask, data.val_mask = masks
        else:
            data = with_validation(data, float(self.val_fraction), seed)
        model, config = self._choice(int(data.num_nodes), seed)
        self._keep(fit_model(data, classes, model, config, bool(self.calibrate)))
        return self

    def predict(self, X: Any = None, edge_index: Any = None, edge_weight: Any = None) -> np.ndarray:
        """Return the class of each node; see :meth:`predict_proba`."""
        best = self.predict_proba(X, edge_index, edge_weight).argmax(axis=1)
        predicted: np.ndarray = self.classes_[best]
        return predicted

    def predict_proba(
        self, X: Any = None, edge_index: Any = None, edge_weight: Any = None
    ) -> np.ndarray:
        """Return calibrated probabilities ``[b, C]``, columns as in ``classes_``.

        X is None for all nodes of the fitted graph or a vector of some of its node indices; a
        ``Data``, or a feature matrix with ``edge_index``, stands for all nodes of that graph.
        """
        if not hasattr(self, "predictor_"):
            raise not_fitted(type(self).__name__)
        new = None
        if isinstance(X, Data):
            new = bare_graph(X)
        elif edge_index is not None:
            new = graph_from_arrays(X, edge_index, edge_weight)
        known = self.saved_.graph
        if new is not None and (known is None or not same_graph(new, known.data)):
            return np.asarray(self.predictor_.on(new).predict_proba())
        nodes = None
        if new is None and X is not None:
            nodes = node_tensor(X, int(self.predictor_.data.num_nodes or 0))
        return np.asarray(self.predictor_.predict_proba(nodes))

    def score(
        self, X: Any = None, y: Any = None, edge_index: Any = None, edge_weight: Any = None
    ) -> float:
        """Return the accuracy on the nodes of X that have a label in y."""
        labels, known = read_labels(_given(y))
        predicted = self.predict(X, edge_index, edge_weight)
        _check_length(known.size, predicted.size)
        if not labels.size:
            raise GraphError("y must have at least one label to score against (got none)")
        return float((predicted[known] == labels).mean())

    def save(self, folder: str | Path) -> None:
        """Write the fitted model and its graph into a folder, without pickles."""
        if not hasattr(self, "predictor_"):
            raise not_fitted(type(self).__name__)
        self.predictor_.save(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return a fitted classifier from a model folder, with the parameters of the model."""
        predictor = Predictor.load(folder)
        saved = predictor.saved
        settings = saved.config.to_dict()
        flat = {name: value for section in settings.values() for name, value in section.items()}
        classifier = cls(
            model=saved.model,
            class_weights=flat["class_weights"],
            random_state=flat["seed"],
            **{name: flat[name] for name in (*_SHARED, *_OF_ONE_MODEL)},
        )
        classifier._keep(predictor)
        return classifier

    @property
    def network_(self) -> NodeClassifier:
        """The network for the fitted graph."""
        return self.predictor_.network

    def _keep(self, predictor: Predictor) -> None:
        saved = predictor.saved
        self.predictor_, self.saved_ = predictor, saved
        self.classes_ = np.array(saved.classes)
        self.n_features_in_ = saved.in_channels
        self.config_, self.temperature_ = saved.config, saved.temperature
        self.history_ = saved.history

    def _training_graph(
        self, X: Any, y: Any, edge_index: Any, edge_weight: Any
    ) -> tuple[Data, np.ndarray]:
        """Return the graph and a label per node, None or -1 for those that may not be read."""
        if isinstance(X, Data):
            if y is not None or edge_index is not None:
                raise ConfigError(
                    "y and edge_index must be left out when X is a Data (got some), "
                    "since it holds both"
                )
            return bare_graph(X), _readable(X)
        y = np.asarray(_given(y).numpy() if isinstance(y, Tensor) else _given(y), dtype=object)
        if edge_index is not None:
            data = graph_from_arrays(X, edge_index, edge_weight)
            _check_length(len(y), int(data.num_nodes or 0))
            return data, y
        if self.graph is None:
            raise ConfigError(
                "the edges must be given (got only X and y); give edge_index, "
                "a Data as X, or graph= to the constructor"
            )
        data = bare_graph(self.graph)
        nodes = node_tensor(X, int(data.num_nodes or 0)).numpy()
        _check_length(len(y), len(nodes))
        labels = np.full((int(data.num_nodes or 0), *y.shape[1:]), None, dtype=object)
        labels[nodes] = y
        if any(a is not b and np.any(a != b) for a, b in zip(labels[nodes], y, strict=True)):
            raise GraphError(
                "a node that X names twice must have the same label each time (got different "
                "ones); name each node once"
            )
        return data, labels

    def _choice(self, num_nodes: int, seed: int) -> tuple[str, Config]:
        check_choice("model", self.model, ["auto", *(entry.name for entry in list_models())])
        values = {name: getattr(self, name) for name in (*_SHARED, *_OF_ONE_MODEL)}
        given = {name: _plain(value) for name, value in values.items() if value is not None}
        config = Config().replace(class_weights=bool(self.class_weights), seed=seed, **given)
        if "patch_size" not in given:
            config = config.replace(patch_size=min(config.patcher.patch_size, num_nodes))
        settled = any(name in given for name in _OF_ONE_MODEL)
        return "herofilter" if self.model == "auto" and settled else self.model, config

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**31))
        return int(self.random_state)


def _readable(data: Data) -> np.ndarray:
    """Return the labels of a graph, -1 for nodes outside the training and validation masks."""
    y = _given(data.y)
    masks = [data[name] for name in _MASKS if data.get(name) is not None]
    if any(mask.dim() != 1 for mask in masks):
        raise GraphError(
            "masks must be one-dimensional (got several splits); choose one with "
            "select_split(data, 0)"
        )
    if masks and y.dim() == 1:
        y = y.masked_fill(~torch.stack(masks).any(dim=0), -1)
    return np.asarray(y)


def _given(y: Any) -> Any:
    if y is None:
        raise ConfigError("y must be given (got None); mark single nodes without a label with -1")
    return y


def _check_length(labels: int, nodes: int) -> None:
    if labels != nodes:
        raise GraphError(
            f"y must have one label per node of X (got {labels} labels for {nodes} nodes); "
            "mark nodes without a label with None or -1"
        )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
