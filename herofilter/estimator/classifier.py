"""HeroFilter as a classifier with scikit-learn's interface."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data.tables.label_arrays import encode_labels, read_labels
from herofilter.errors import ConfigError, GraphError, check_choice
from herofilter.estimator.asked_graph import (
    AskedGraph,
    asked_data,
    asked_nodes,
    asked_rows,
    asked_rows_alone,
    check_no_weights,
    names_nodes,
    with_shape,
)
from herofilter.estimator.feature_reader import FeatureReader
from herofilter.estimator.sklearn_contract import Parameters, classifier_base, not_fitted
from herofilter.estimator.training_graph import (
    MASKS,
    TrainingGraph,
    check_length,
    given_labels,
    graph_of_data,
    graph_of_nodes,
    graph_of_rows,
)
from herofilter.nn import NodeClassifier, list_models
from herofilter.training.fit_model import fit_model, with_validation
from herofilter.training.predictor import Predictor

if TYPE_CHECKING:
    Base = Parameters
else:
    Base = classifier_base()

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

    X is a matrix with a row of features per node (an array, a list, a sparse matrix, a tensor),
    or a data frame, whose columns are encoded as those of tables are; the edges come as
    ``edge_index`` or ``edges``. Instead, X can be a PyG ``Data`` or, with ``graph`` set, node
    indices, which is the form for ``cross_val_score`` and ``GridSearchCV``. Without any edges
    every node is its own patch, and the prediction depends on its own features alone.

    Nodes without a label (None, NaN, or -1 among integers) contribute their features and edges.
    No labels are read but those given to ``fit``. Features of a matrix are used as they are.

    Args:
        graph: the graph whose nodes X indexes; its labels are ignored.
        edges: the edges between the rows of X where ``edge_index`` isn't given, in one of its
            forms; ``[]`` for none.
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
        device: where to train: ``cpu``, ``cuda``, ``mps``, or ``auto`` for the best that is here.
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
        edges: Any = None,
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
        device: str | None = None,
        val_fraction: float = 0.2,
        calibrate: bool = True,
        random_state: int | None = 0,
    ) -> None:
        self.graph = graph
        self.edges = edges
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
        self.device = device
        self.val_fraction = val_fraction
        self.calibrate = calibrate
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, edge_index: Any = None, edge_weight: Any = None) -> Self:
        """Train on rows of features with edges, on node indices of ``graph``, or on a ``Data``.

        ``edge_index`` holds row numbers of X: an array of two rows or of two columns (one of
        shape 2 × 2 is read by rows), a data frame with the columns source and target, or else its
        first two, and perhaps weight, or a sparse adjacency matrix.

        The masks of a ``Data`` say which labels are for training and which for validation;
        those of its test nodes aren't read.
        """
        seed = self._seed()
        given = self._training_graph(X, y, edge_index, edge_weight)
        data = given.data
        classes, data.y = encode_labels(given.labels)
        masks = [X.get(name) if isinstance(X, Data) else None for name in MASKS]
        if all(mask is not None for mask in masks):
            data.train_mask, data.val_mask = masks
        else:
            data = with_validation(data, float(self.val_fraction), seed)
        model, config = self._choice(int(data.num_nodes), seed)
        encoder = None if given.features is None else given.features.encoder
        predictor = fit_model(data, classes, model, config, bool(self.calibrate), encoder)
        self._keep(predictor, given.features)
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

        - None, or the X of training (up to rounding): all nodes of the fitted graph.
        - A vector of integers: these nodes of the fitted graph; with ``graph`` set a matrix of one
          column, too, which holds features otherwise.
        - Rows of features with ``edge_index``, or a ``Data``: all nodes of that graph.
        - Other rows of features without edges: nodes without edges, if there were none in
          training; if ``edges`` is set and there are as many rows as in training, the fitted graph
          with these features; else an error.
        """
        if not hasattr(self, "predictor_"):
            raise not_fitted(type(self).__name__)
        asked = self._asked(X, edge_index, edge_weight)
        return np.asarray(asked.predictor.predict_proba(asked.nodes))

    def score(
        self, X: Any = None, y: Any = None, edge_index: Any = None, edge_weight: Any = None
    ) -> float:
        """Return the accuracy on the nodes of X that have a label in y."""
        labels, known = read_labels(given_labels(y))
        predicted = self.predict(X, edge_index, edge_weight)
        check_length(known.size, predicted.size)
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

    def _keep(self, predictor: Predictor, features: FeatureReader | None = None) -> None:
        saved = predictor.saved
        if features is None and saved.encoder is not None:
            names = tuple(column.name for column in saved.encoder.columns)
            features = FeatureReader(len(names), names, saved.encoder)
        self._features = features or FeatureReader(saved.in_channels)
        self.predictor_, self.saved_ = predictor, saved
        self.classes_ = np.array(saved.classes)
        self.n_features_in_ = self._features.width
        if self._features.names is not None:
            self.feature_names_in_ = np.array(self._features.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.config_, self.temperature_ = saved.config, saved.temperature
        self.history_ = saved.history

    def _training_graph(self, X: Any, y: Any, edge_index: Any, edge_weight: Any) -> TrainingGraph:
        if self.graph is not None and self.edges is not None:
            raise ConfigError(
                "graph and edges must not both be set (got both); graph holds the edges, too"
            )
        if isinstance(X, Data):
            return graph_of_data(X, y, edge_index)
        if edge_index is None:
            check_no_weights(edge_weight)
            if self.graph is not None:
                return graph_of_nodes(self.graph, X, y)
        edges = self.edges if edge_index is None else edge_index
        if edges is None:
            warnings.warn(
                "X came without edges, so that each node is classified by its own features alone; "
                "give edge_index, or edges=[] if there are none",
                UserWarning,
                stacklevel=3,
            )
        return graph_of_rows(X, y, edges, edge_weight)

    def _asked(self, X: Any, edge_index: Any, edge_weight: Any) -> AskedGraph:
        if isinstance(X, Data):
            return asked_data(self.predictor_, X)
        if edge_index is not None:
            return asked_rows(self.predictor_, self._features, X, edge_index, edge_weight)
        check_no_weights(edge_weight)
        if X is None:
            return AskedGraph(self.predictor_)
        X = with_shape(X)
        if names_nodes(X, by_index=self.graph is not None):
            return asked_nodes(self.predictor_, X)
        return asked_rows_alone(self.predictor_, self._features, X, self.edges is not None)

    def _choice(self, num_nodes: int, seed: int) -> tuple[str, Config]:
        check_choice("model", self.model, ["auto", *(entry.name for entry in list_models())])
        values = {name: getattr(self, name) for name in (*_SHARED, *_OF_ONE_MODEL)}
        given = {name: _plain(value) for name, value in values.items() if value is not None}
        config = Config().replace(class_weights=bool(self.class_weights), seed=seed, **given)
        if self.device is not None:
            config = config.replace(device=self.device)
        if "patch_size" not in given:
            config = config.replace(patch_size=min(config.patcher.patch_size, num_nodes))
        settled = any(name in given for name in _OF_ONE_MODEL)
        return "herofilter" if self.model == "auto" and settled else self.model, config

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**31))
        return int(self.random_state)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
