"""Labels as users have them, and as training needs them: class indices from 0, -1 for none."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from herofilter.errors import GraphError

Label = str | int | bool


def encode_labels(y: Any) -> tuple[tuple[Label, ...], Tensor]:
    """Return the classes in order and each label's class index, -1 where there is no label.

    Example:
        >>> encode_labels(["spam", None, "ham", "spam"])
        (('ham', 'spam'), tensor([ 1, -1,  0,  1]))
    """
    labels, known = read_labels(y)
    classes, index = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        got, cure = "1 class" if classes.size else "no label", "there is nothing to tell apart"
        if any(type(value) is int and value == -1 for value in _vector(y).tolist()):
            cure = "-1 stands for no label, so a class must be called otherwise"
        raise GraphError(f"y must hold at least two classes (got {got}); {cure}")
    codes = np.full(known.shape, -1, np.int64)
    codes[known] = index
    return tuple(classes.tolist()), torch.from_numpy(codes)


def read_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that are there, and which they are: ``[m]`` and a mask ``[n]``.

    No label is None, NaN or, among numbers, -1. Floats that are all integral count as integers.
    """
    array = _vector(y)
    known = np.array([_is_there(value) for value in array.tolist()], dtype=bool)
    labels = _of_one_kind(array[known])
    if labels.dtype.kind in "iu":
        known[known] = labels != -1
        labels = labels[labels != -1]
    return labels, known


def _vector(y: Any) -> np.ndarray:
    if isinstance(y, Tensor):
        y = y.numpy()
    # numpy would turn None and NaN in a list of text into text
    array = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or any(isinstance(value, list | tuple | set) for value in array.tolist()):
        raise GraphError(
            "y must hold one label per node (got several): multi-label targets aren't supported; "
            "train one classifier per label"
        )
    return array


def _is_there(value: object) -> bool:
    # NaN differs from itself, and a missing value of pandas gives no answer
    same = value is not None and value == value
    return isinstance(same, bool | np.bool_) and bool(same)


def _of_one_kind(labels: np.ndarray) -> np.ndarray:
    """Return labels as an array of integers, booleans or text."""
    if labels.dtype.kind == "O":
        kinds = {_kind(value) for value in labels.tolist()}
        if len(kinds) > 1:
            raise GraphError(
                f"y must hold labels of one kind (got {' and '.join(sorted(kinds))}); "
                "make them all text, for instance"
            )
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f":
        wrong = (np.floor(labels) != labels) | np.isinf(labels)
        if wrong.any():
            raise GraphError(
                f"y must hold classes (got continuous numbers such as {labels[wrong][0]:g}): "
                "regression isn't supported; make classes of the numbers, for instance by quantiles"
            )
        labels = labels.astype(np.int64)
    if labels.size and labels.dtype.kind not in "iubU":
        raise GraphError(f"y must hold text, integers or booleans (got {labels.dtype}); convert it")
    return labels


def _kind(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "booleans"
    if isinstance(value, int | float | np.number):
        return "numbers"
    return "text" if isinstance(value, str) else type(value).__name__
