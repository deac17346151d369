"""Boosted trees as plain arrays: grown by scikit-learn, saved and evaluated without it."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from herofilter.files import DamagedFileError
from herofilter.jit import compiled
from herofilter.parallel.threads import parallel_map

ROWS_AT_ONCE = 2048
LEAF = -1


class TreeEnsemble(nn.Module):
    r"""Regression trees whose sum gives the score of each class.

    .. math::
        s_c(\mathbf{x}) = b_c + \sum_t v_{t,c}(\mathbf{x})

    where :math:`v_{t,c}` is the value of the leaf that **x** reaches in tree t of class c. Two
    classes share one score, that of the second. A class without a training node has no trees; its
    score is that of less than one node among all training nodes.

    The trees are buffers, so they are part of the model's state and saved like all weights, as
    safetensors with a checksum; no object is pickled, and no version of scikit-learn has to match.
    Their sizes follow from the state that is loaded, which is refused unless every path through
    it ends in a leaf.

    Args:
        num_classes: C.
        width: columns of the table that trees read; 0 until it is known.

    Shapes:
        - feature, threshold, left, right, value: ``[k]`` over the nodes of all trees; the feature
          of a leaf is -1, and children come after their parent
        - roots: ``[t * r]`` with r trees per round, round by round
        - start: ``[r]``, b; classes: ``[s]``, those with training nodes; count: their nodes
    """

    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    roots: Tensor
    start: Tensor
    classes: Tensor
    count: Tensor

    def __init__(self, num_classes: int, width: int = 0) -> None:
        super().__init__()
        self.num_classes, self.width = num_classes, width
        for name, kind in _BUFFERS.items():
            self.register_buffer(name, torch.empty(0, dtype=kind))
        self.clear(torch.arange(num_classes), 0, np.zeros(_scores(num_classes)), width)

    @property
    def rounds(self) -> int:
        """The number of trees of each score."""
        return self.roots.numel() // max(1, self.start.numel())

    def clear(self, classes: Tensor, count: int, start: np.ndarray, width: int) -> None:
        """Remove all trees; the scores are ``start`` ``[r]`` for ``classes`` ``[s]``."""
        self.width = width
        for name, kind in _BUFFERS.items():
            setattr(self, name, torch.empty(0, dtype=kind))
        self.classes, self.count = classes.clone(), torch.tensor([count])
        self.start = torch.from_numpy(np.array(start, dtype=np.float64))

    def append(self, trees: Sequence[np.ndarray]) -> None:
        """Add one round: the nodes of a tree per score, as scikit-learn's predictors have them."""
        for nodes in trees:
            first = self.feature.numel()
            leaf = nodes["is_leaf"].astype(bool)
            new = {
                "feature": np.where(leaf, LEAF, nodes["feature_idx"]),
                "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
                "left": np.where(leaf, 0, nodes["left"] + np.int64(first)),
                "right": np.where(leaf, 0, nodes["right"] + np.int64(first)),
                "value": nodes["value"],
                "roots": np.array([first]),
            }
            for name, values in new.items():
                tensor = torch.from_numpy(values.astype(_NUMPY[_BUFFERS[name]]))
                setattr(self, name, torch.cat([getattr(self, name), tensor]))

    def add_scores(self, table: np.ndarray, scores: np.ndarray, since: int = 0) -> None:
        """Add the values of the rounds from ``since`` on to ``scores`` ``[n, r]``, in place."""
        r = scores.shape[1]
        if not r:
            return
        roots = self.roots.numpy().reshape(-1, r)[since:]
        arrays = [getattr(self, name).numpy() for name in _OF_NODES]

        def add(first: int) -> None:
            rows = slice(first, first + ROWS_AT_ONCE)
            _add_values(table[rows], roots, *arrays, scores[rows])

        parallel_map(add, range(0, len(table), ROWS_AT_ONCE))

    def scores(self, table: np.ndarray) -> np.ndarray:
        """Return the sums over all trees for the rows of ``table`` ``[n, w]``: ``[n, r]``."""
        scores = np.tile(self.start.numpy(), (len(table), 1))
        self.add_scores(table, scores)
        return scores

    def logits(self, scores: np.ndarray) -> Tensor:
        """Return the log-probabilities ``[n, C]`` of ``scores`` ``[n, r]``."""
        found = torch.from_numpy(scores)
        if found.size(1) == 1:
            found = torch.cat([torch.zeros_like(found), found], dim=1)
        elif not found.size(1):
            found = found.new_zeros(len(scores), 1)
        absent = -float(np.log1p(int(self.count)))
        full = found.new_full((len(scores), self.num_classes), absent)
        full[:, self.classes] = found.log_softmax(1)
        return full.log_softmax(1).float()

    def forward(self, table: np.ndarray) -> Tensor:
        """Return the log-probabilities ``[n, C]`` of the rows of ``table`` ``[n, w]``."""
        return self.logits(self.scores(table))

    def make_room(self, state: Mapping[str, Tensor], prefix: str, width: int) -> None:
        """Give the buffers the sizes that they have in a state, once it is found to be sound."""
        found = {name: state[prefix + name] for name in _BUFFERS if prefix + name in state}
        if len(found) < len(_BUFFERS):
            return  # the caller's own check names what is missing
        if not _sound(found, self.num_classes, width):
            raise DamagedFileError(
                "the trees of a booster must be numbered as they were saved (got some that lead "
                "nowhere); fit the model anew"
            )
        self.width = width
        for name, value in found.items():
            setattr(self, name, value.clone())


_OF_NODES = ("feature", "threshold", "left", "right", "value")
_BUFFERS = {
    "feature": torch.int32,
    "threshold": torch.float64,
    "left": torch.int32,
    "right": torch.int32,
    "value": torch.float64,
    "roots": torch.int32,
    "start": torch.float64,
    "classes": torch.int64,
    "count": torch.int64,
}
_NUMPY = {torch.int32: np.int32, torch.float64: np.float64, torch.int64: np.int64}


def _scores(num_classes: int) -> int:
    """Return how many scores tell so many classes apart."""
    return num_classes if num_classes > 2 else num_classes - 1


def _sound(state: Mapping[str, Tensor], num_classes: int, width: int) -> bool:
    """Return whether evaluating the trees reads nothing outside of the arrays and ends."""
    if any(state[name].dtype != kind or state[name].dim() != 1 for name, kind in _BUFFERS.items()):
        return False
    k, s, r = (state[name].numel() for name in ("feature", "classes", "start"))
    classes, roots, feature = state["classes"], state["roots"], state["feature"]
    inner = feature >= 0
    parent = torch.arange(k)[inner]
    children = torch.stack([state["left"][inner], state["right"][inner]]) if k else torch.empty(0)
    finite = (torch.isfinite(state[name]).all() for name in ("value", "start"))
    return bool(
        all(state[name].numel() == k for name in _OF_NODES)
        and s >= 1
        and (classes[1:] > classes[:-1]).all()
        and int(classes[0]) >= 0
        and int(classes[-1]) < num_classes
        and state["count"].numel() == 1
        and int(state["count"]) >= 0
        and r == _scores(s)
        and (roots.numel() % r == 0 if r else not roots.numel())
        and ((roots >= 0) & (roots < k)).all()
        and (feature < max(width, 0)).all()
        # later than their parent, so that no path runs in a circle
        and ((children > parent) & (children < k)).all()
        and not state["threshold"].isnan().any()
        and all(finite)
    )


@compiled(nogil=True)
def _add_values(
    table: np.ndarray,
    roots: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    value: np.ndarray,
    scores: np.ndarray,
) -> None:
    # tree by tree: one tree and the rows of a block fit into the cache
    for number in range(roots.shape[0]):
        for column in range(roots.shape[1]):
            for row in range(table.shape[0]):
                node = roots[number, column]
                while feature[node] >= 0:
                    if table[row, feature[node]] <= threshold[node]:
                        node = left[node]
                    else:
                        node = right[node]
                scores[row, column] += value[node]
