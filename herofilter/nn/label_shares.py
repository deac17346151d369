"""Class shares of known neighbours as tokens, one per relation."""

from collections.abc import Sequence

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from herofilter.nn.class_shares import ClassShares
from herofilter.nn.dropout import Dropout
from herofilter.spectral.polynomial_basis import Word


class LabelShares(ClassShares):
    r"""One token per relation: the class shares of a node's known neighbours.

    .. math::
        \mathbf{t}_v = \mathbf{W} \Big[ \frac{(\mathbf{B}^\circ \mathbf{Y})_v}{m_v} \,\Big\|\, m_v
        \Big] + \mathbf{b}, \qquad m_v = (\mathbf{B}^\circ \mathbf{Y})_v \mathbf{1}

    where the bracket has what :class:`~herofilter.nn.class_shares.ClassShares` computes, in which
    no node meets its own label. In training a share of the labels is hidden at random at every
    step.

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
        >>> shares().shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        words: Sequence[Word],
        num_classes: int,
        channels: int,
        mask: float = 0.5,
    ) -> None:
        super().__init__(matrix, words, num_classes)
        self.mask = Dropout(mask)
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

    def shares(self) -> Tensor:
        """Return the shares and their sums, ``[r, n, C + 1]``; in training of some labels only."""
        known = self.known
        if self.training:
            # random numbers come from where the weights are
            shown = self.mask(self.weight.new_ones(known.size(0), 1)) != 0
            known = known * shown.cpu()
        return self.shares_of(known)

    def forward(self, nodes: Tensor | None = None) -> Tensor:
        """Return the tokens of ``nodes``: ``[r, b, h]``."""
        shares = self.shares().to(self.weight.device)
        if nodes is not None:
            shares = shares.index_select(1, nodes)
        return torch.baddbmm(self.bias, shares, self.weight)
