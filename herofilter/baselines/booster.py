"""Gradient-boosted trees on a node's own columns: a baseline that ignores the edges."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.column_choice import as_columns, choose_columns, dense
from herofilter.baselines.tree_ensemble import TreeEnsemble
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.files import DamagedFileError
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.registry import register_model

MOST_COLUMNS = 256


class Booster(NodeClassifier):
    """Gradient-boosted trees that read the features of the node.

    The trees are grown by scikit-learn's ``HistGradientBoostingClassifier`` (extra ``tables``) in
    :mod:`herofilter.training.boosting`, not by gradient steps, and there are none before. Of wide
    features, such as bags of words, the 256 columns are kept whose means differ most between the
    classes of training nodes (:func:`~herofilter.baselines.column_choice.choose_columns`). Logits
    are log-probabilities and have no gradient.

    Args:
        in_channels: width of the features.
        out_channels: number of classes.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR
        - output: ``[b, out_channels]``
    """

    in_parallel = True
    boosted = True
    ignores_graph = True
    own: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.trees = TreeEnsemble(out_channels)
        self.register_buffer("own", torch.arange(min(in_channels, MOST_COLUMNS)))

    def reset_parameters(self) -> None:
        classes = torch.arange(self.out_channels)
        start = np.zeros_like(TreeEnsemble(self.out_channels).start.numpy())
        self.trees.clear(classes, 0, start, self.width)

    @property
    def width(self) -> int:
        """The number of columns that the trees read."""
        return self.own.numel()

    def choose(self, data: Data, nodes: Tensor) -> None:
        """Choose the columns that trees read, by the labels of ``nodes``, the training nodes."""
        x = as_columns(select(data.x, nodes))
        y = data.y[nodes].numpy()
        chosen = choose_columns(self.in_channels, MOST_COLUMNS, lambda part: dense(x, part), y)
        self.own = torch.from_numpy(chosen)

    def table(self, data: Data, nodes: Tensor | None = None) -> np.ndarray:
        """Return what the trees read of ``nodes`` (all when None): ``[b, width]``, no gaps."""
        return dense(as_columns(select(data.x, nodes)), self.own.numpy())

    def column_names(self, features: list[str]) -> list[str]:
        """Return what each column of :meth:`table` is, by the names of the features."""
        return [features[column] for column in self.own.tolist()]

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        logits: Tensor = self.trees(self.table(data, nodes))
        return logits

    def expect_scaler(self, state: Mapping[str, Any]) -> None:
        """Make room for what a state has: its scaler, and as many columns and trees."""
        super().expect_scaler(state)
        self.expect_columns(state)
        self.trees.make_room(state, "trees.", self.width)

    def expect_columns(self, state: Mapping[str, Any]) -> None:
        """Take the columns that a state names."""
        self.own = self.columns_of(state, "own", self.own)

    def columns_of(self, state: Mapping[str, Any], name: str, before: Tensor) -> Tensor:
        """Return the columns that a state has under ``name``; refuse those that don't exist."""
        found = state.get(name)
        if found is None:
            return before  # the caller's own check names what is missing
        known = found.dim() == 1 and found.dtype == torch.int64
        if not known or not bool(((found >= 0) & (found < self.in_channels)).all()):
            raise DamagedFileError(
                f"the columns of a booster must be those of the {self.in_channels} features (got "
                "others); fit the model anew"
            )
        columns: Tensor = found.clone()
        return columns


@register_model(
    "booster",
    paper="boosted trees",
    needs="nothing but the features",
    scales=True,
    batches=True,
    gradients=False,
)
def build_booster(data: Data, config: Config, spec: GraphSpec) -> Booster:
    """Build a booster for a graph."""
    return Booster(spec.in_channels, spec.num_classes)
