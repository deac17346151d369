"""Class shares: which known labels surround a node, its own left out."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from herofilter.spectral.polynomial_basis import Word
from herofilter.spectral.products import csr_of
from herofilter.spectral.some_rows import product_rows


class ClassShares(nn.Module):
    r"""The shares of each class among the known labels that a node meets by each relation.

    .. math::
        \Big[ \frac{(\mathbf{B}^\circ \mathbf{Y})_v}{m_v} \,\Big\|\, m_v \Big], \qquad
        m_v = (\mathbf{B}^\circ \mathbf{Y})_v \mathbf{1}

    where **Y** holds a one in the column of each known label and :math:`\mathbf{B}^\circ` is a
    product of **M** and its transpose with the diagonal set to zero, so that no walk that returns
    to a node brings back its own label. The difference :math:`\mathbf{B}\mathbf{Y} -
    \mathrm{diag}(\mathbf{B}) \mathbf{Y}` is taken in double precision and rounded, so that not even
    its last bits depend on that label; that happens on the CPU. No label is known before
    :meth:`show` is called, and :meth:`show` must be given training labels only.

    Args:
        matrix: **M**, such as an adjacency; row v has the weights of the nodes that v meets.
        words: the products, of one or two factors, that which is applied first in front; True
            stands for the transpose.
        num_classes: C.

    Example:
        >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> shares = ClassShares(path, [(False,)], num_classes=2)
        >>> shares.show(torch.tensor([0, 1, 1]))
        >>> shares.shares()[0].tolist()
        [[0.0, 1.0, 1.0], [0.5, 0.5, 2.0], [0.0, 1.0, 1.0]]
    """

    known: Tensor
    diagonals: Tensor

    def __init__(self, matrix: sp.csr_array, words: Sequence[Word], num_classes: int) -> None:
        super().__init__()
        self.words = tuple(words)
        self.matrices = tuple(csr_of(one).double() for one in (matrix, sp.csr_array(matrix.T)))
        n = matrix.shape[0]
        # neither is a buffer: not every device has double precision
        self.known = torch.zeros(n, num_classes).double()
        self.diagonals = torch.stack([_diagonal(matrix, word) for word in words])

    def show(self, labels: Tensor) -> None:
        """Store the labels that may be read; -1 stands for those that may not."""
        labels = labels.cpu()
        self.known.zero_()
        rows = (labels >= 0).nonzero().flatten()
        self.known[rows, labels[rows]] = 1

    def shares(self) -> Tensor:
        """Return the shares of each class and their sum before they were divided by it.

        Shapes:
            - output: ``[r, n, C + 1]``
        """
        return self.shares_of(self.known)

    def shares_at(self, nodes: Tensor) -> Tensor:
        """Return the shares of some nodes, ``[r, b, C + 1]``, from the labels that they meet."""
        products = [self._rows(word, nodes) for word in self.words]
        return _divided(torch.stack(products), self.diagonals[:, nodes], self.known[nodes])

    @torch.no_grad()
    def shares_of(self, known: Tensor) -> Tensor:
        """Return what :meth:`shares` returns, for labels ``[n, C]``, one in each known row."""
        products = []
        for word in self.words:
            product = known
            for transposed in word:
                product = self.matrices[transposed] @ product
            products.append(product)
        return _divided(torch.stack(products), self.diagonals, known)

    def _rows(self, word: Word, nodes: Tensor) -> Tensor:
        """Return some rows of the product of a word with the known labels: ``[b, C]``."""
        dense: Callable[[np.ndarray], np.ndarray] = self.known.numpy().__getitem__
        for transposed in word:
            dense = partial(product_rows, _scipy(self.matrices[transposed]), dense=dense)
        return torch.from_numpy(dense(nodes.numpy()))


# far coarser than rounding errors of double precision, far finer than what a share can tell
_STEPS = 2.0**30


def _divided(products: Tensor, diagonals: Tensor, known: Tensor) -> Tensor:
    """Return shares and their sums: ``[r, b, C + 1]`` from ``[r, b, C]``, without own labels."""
    own = diagonals.unsqueeze(-1) * known
    found = (products - own).mul_(_STEPS).round_().div_(_STEPS)
    total = found.sum(-1, keepdim=True)
    return torch.cat([found / total.clamp(min=1 / _STEPS), total], dim=-1).float()


def _scipy(matrix: Tensor) -> sp.csr_array:
    parts = (matrix.values(), matrix.col_indices(), matrix.crow_indices())
    return sp.csr_array(tuple(part.numpy() for part in parts), shape=tuple(matrix.shape))


def _diagonal(matrix: sp.csr_array, word: Word) -> Tensor:
    """Return the diagonal of a product of one or two factors."""
    factors = [sp.csr_array(matrix.T) if transposed else matrix for transposed in word]
    # of the float32 values that the products take
    factors = [factor.astype(np.float32).astype(np.float64) for factor in factors]
    found = factors[0].diagonal()
    if len(factors) == 2:
        found = (factors[1] * sp.csr_array(factors[0].T)).sum(axis=1)
    return torch.from_numpy(found)
