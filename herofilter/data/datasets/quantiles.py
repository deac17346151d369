"""Classes from the even quantiles of a value, as LINKX makes them from years."""

import numpy as np
import torch
from torch import Tensor


def even_quantile_classes(values: np.ndarray, num_classes: int) -> Tensor:
    """Return the class of each value, cut at the even quantiles; NaN becomes -1.

    Class ``c`` covers the values from quantile ``c / num_classes`` up to, but without, the next.

    Example:
        >>> even_quantile_classes(np.array([2001.0, 2005.0, 2003.0, np.nan]), 3).tolist()
        [0, 2, 1, -1]
    """
    shares = np.arange(1, num_classes) / num_classes
    known = ~np.isnan(values)
    cuts = np.quantile(values[known], shares)
    classes = np.searchsorted(cuts, values, side="right")
    return torch.from_numpy(np.where(known, classes, -1).astype(np.int64))
