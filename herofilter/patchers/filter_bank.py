"""Filters that share one polynomial basis: learned ones, and the fixed relations of directions."""

from collections.abc import Sequence

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from herofilter.patchers.fast import filter_names
from herofilter.spectral.filters import ChebyshevFilter
from herofilter.spectral.polynomial_basis import (
    ChebyshevBasis,
    PolynomialBasis,
    Word,
    WordBasis,
)

# N·Nᵀ multiplies by Nᵀ first
RELATION_WORDS: dict[str, Word] = {
    "out": (False,),
    "in": (True,),
    "coreference": (True, False),
    "cocitation": (False, True),
}


class FilterBank(nn.Module):
    r"""Filters :math:`\mathbf{R}_f = \sum_k \theta_{fk} \mathbf{B}_k` over one basis.

    Args:
        basis: the matrices :math:`\mathbf{B}_k`.
        names: one per filter, of its slot and of its summary.
    """

    basis: PolynomialBasis
    one_each: Tensor

    def __init__(self, basis: PolynomialBasis, names: Sequence[str]) -> None:
        super().__init__()
        self.basis, self.names = basis, tuple(names)
        one_each = torch.eye(len(self.names), basis.num_terms)
        self.register_buffer("one_each", one_each, persistent=False)

    def reset_parameters(self) -> None:
        """Put every filter back to its start."""

    def coefficients(self) -> Tensor:
        """Return θ with its gradients: ``[f, K + 1]``; by default each filter is one matrix."""
        return self.one_each


class ChebyshevBank(FilterBank):
    """Learned filters of an undirected graph, see :class:`ChebyshevFilter`.

    Args:
        matrix: the normalised adjacency, symmetric.
        filters: all of one order.

    Example:
        >>> edge = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
        >>> ChebyshevBank(edge, [ChebyshevFilter(2, "hop1")]).coefficients().round().abs().tolist()
        [[0.0, 1.0, 0.0]]
    """

    basis: ChebyshevBasis

    def __init__(self, matrix: sp.csr_array, filters: Sequence[ChebyshevFilter]) -> None:
        super().__init__(ChebyshevBasis(matrix, filters[0].order), filter_names(len(filters)))
        self.matrix, self.filters = matrix, tuple(filters)
        self.values = nn.Parameter(torch.empty(len(filters), filters[0].order + 1))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        starts = [kind.initial_weights(self.values) for kind in self.filters]
        self.values.copy_(torch.stack(starts))

    def coefficients(self) -> Tensor:
        return self.filters[0].coefficients(self.values)


class RelationBank(FilterBank):
    r"""The fixed relations of a directed graph, one product of N and Nᵀ each.

    ``out`` is N, ``in`` is Nᵀ, ``coreference`` is N·Nᵀ (nodes that point to the same nodes) and
    ``cocitation`` is Nᵀ·N (nodes that the same nodes point to).

    Args:
        matrix: the normalised adjacency N.
        relations: their names.
    """

    def __init__(self, matrix: sp.csr_array, relations: Sequence[str]) -> None:
        words = [RELATION_WORDS[relation] for relation in relations]
        super().__init__(WordBasis(matrix, words), relations)
