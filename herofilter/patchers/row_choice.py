"""The largest entries of the rows of filters that share a basis, and their basis values."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from herofilter.patchers.polynomial.exact import polynomial_top, word_top
from herofilter.spectral.polynomial_basis import PolynomialBasis, WordBasis


def choose_rows(
    basis: PolynomialBasis,
    coefficients: Tensor,
    widths: Sequence[int],
    exclude_self: bool,
    nodes: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the best nodes of each row, filter by filter, and the basis values of each.

    They are chosen by compiled loops, so nodes and results are on the CPU.

    Args:
        basis: of the filters.
        coefficients: one row per filter.
        widths: how many entries each filter chooses.
        exclude_self: leave the node itself out.
        nodes: the rows; all by default.

    Shapes:
        - coefficients: ``[f, K + 1]``
        - output: ``[b, p]``, with -1 as padding, and ``[b, p, K + 1]``, p the sum of the widths
    """
    theta = coefficients.detach().cpu().numpy()
    rows = np.arange(basis.num_nodes) if nodes is None else nodes.numpy()
    if isinstance(basis, WordBasis):
        # there a word is read from left to right
        words = [tuple(reversed(word)) for word in basis.words]
        found = word_top(
            basis.matrix, words, theta, rows, widths, exclude_self=exclude_self, with_basis=True
        )
    else:
        found = polynomial_top(
            basis.matrix, theta, rows, widths, exclude_self=exclude_self, with_basis=True
        )
    index = np.concatenate([one.index for one in found], axis=1)
    values = [one.basis for one in found if one.basis is not None]
    return torch.from_numpy(index), torch.from_numpy(np.concatenate(values, axis=1))
