"""Class shares: which known labels surround a node, as one token per relation."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from herofilter.nn.dropout import Dropout
from herofilter.spectral.polynomial_basis import Word
from herofilter.spectral.products import csr_of


class LabelShares(nn.Module):
    r"""One token per relation: the class shares of a node's known neighbours.

    .. math::
        \mathbf{t}_v = \mathbf{W} \Big[ \frac{(\mathbf{B}^\circ \mathbf{Y})_v}{m_v} \,\Big\|\, m_v
        \Big] + \mathbf{b}, \qquad m_v = (\mathbf{B}^\circ \mathbf{Y})_v \mathbf{1}

    where **Y** holds a one in the column of each known label and :math:`\mathbf{B}^\circ` is a
    product of N and Nᵀ with its diagonal set to zero, so that no walk that returns to a node brings
    back its own label. The difference :math:`\mathbf{B}\mathbf{Y} - \mathrm{diag}(\mathbf{B})
    \mathbf{Y}` is taken in double precision and rounded, so that not even its last bits depend on
    that label. In training a share of the labels is hidden at random at every step. No label is
    known before :meth:`show` is called, and :meth:`show` must be given training labels only.

    Args:
        matrix: the normalised adjacency N.
        words: the products, of one or two factors, that which is applied first in front.
        num_classes: C.
        channels: width of a token.
        mask: share of the labels that is hidden in training.

    Example:
        >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> shares = LabelShares(path, [(False,)], num_classes=2, channels=8).eval()
        >>> shares.show(torch.tensor([0, 1, 1]))
        >>> shares.shares()[0].tolist()
        [[0.0, 1.0, 1.0], [0.5, 0.5, 2.0], [0.0, 1.0, 1.0]]
    """

    known: Tensor
    diagonals: Tensor

    def __init__(
        self,
        matrix: sp.csr_array,
        words: Sequence[Word],
        num_classes: int,
        channels: int,
        mask: float = 0.5,
    ) -> None:
        super().__init__()
        self.words = tuple(words)
        self.matrices = tuple(csr_of(one).double() for one in (matrix, sp.csr_array(matrix.T)))
        self.mask = Dropout(mask)
        n = matrix.shape[0]
        self.register_buffer("known", torch.zeros(n, num_classes).double(), persistent=False)
        diagonals = torch.stack([_diagonal(matrix, word) for word in words])
        self.register_buffer("diagonals", diagonals, persistent=False)
        self.weight = nn.Parameter(torch.empty(len(words), num_classes + 1, channels))
        self.bias = nn.Parameter(torch.empty(len(words), 1, channels))
        self.reset_parameters()

    @property
    def num_tokens(self) -> int:
        """The number of relations."""
        return len(self.words)

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.1)
        nn.init.zeros_(self.bias)

    def show(self, labels: Tensor) -> None:
        """Store the labels that may be read; -1 stands for those that may not."""
        self.known.zero_()
        rows = (labels >= 0).nonzero().flatten()
        self.known[rows, labels[rows]] = 1

    @torch.no_grad()
    def shares(self) -> Tensor:
        """Return the shares of each class and their sum before they were divided by it.

        Shapes:
            - output: ``[r, n, C + 1]``
        """
        known = self.known
        if self.training:
            known = known * (self.mask(torch.ones(known.size(0), 1)) != 0)
        products = []
        for word, diagonal in zip(self.words, self.diagonals, strict=True):
            product = known
            for transposed in word:
                product = self.matrices[transposed] @ product
            products.append(product - diagonal.unsqueeze(-1) * known)
        # [r, n, C]
        found = torch.stack(products).mul_(_STEPS).round_().div_(_STEPS)
        total = found.sum(-1, keepdim=True)
        return torch.cat([found / total.clamp(min=1 / _STEPS), total], dim=-1).float()

    def forward(self, nodes: Tensor | None = None) -> Tensor:
        """Return the tokens of ``nodes``: ``[r, b, h]``."""
        shares = self.shares()
        if nodes is not None:
            shares = shares.index_select(1, nodes)
        return torch.baddbmm(self.bias, shares, self.weight)


# far coarser than rounding errors of double precision, far finer than what a share can tell
_STEPS = 2.0**30


def _diagonal(matrix: sp.csr_array, word: Word) -> Tensor:
    """Return the diagonal of a product of one or two factors."""
    factors = [sp.csr_array(matrix.T) if transposed else matrix for transposed in word]
    # of the float32 values that the products take
    factors = [factor.astype(np.float32).astype(np.float64) for factor in factors]
    found = factors[0].diagonal()
    if len(factors) == 2:
        found = (factors[1] * sp.csr_array(factors[0].T)).sum(axis=1)
    return torch.from_numpy(found)
