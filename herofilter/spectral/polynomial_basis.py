"""Polynomials of a graph's matrices applied to hidden vectors, by sparse products alone."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from herofilter.spectral.chebyshev import chebyshev_sum
from herofilter.spectral.compressed_rows import PlacedMatrix
from herofilter.spectral.polynomial_kernel import (
    respond_adjoint,
    respond_chebyshev,
    respond_slopes,
)
from herofilter.spectral.products import csr_of
from herofilter.spectral.sparse import (
    PARALLEL_FROM,
    csr_arrays,
    is_float32_on_cpu,
    multiply_sparse,
)
from herofilter.spectral.sparse_rows import LANES

# a product of N (False) and Nᵀ (True), the one that is applied first in front
Word = tuple[bool, ...]


class PolynomialBasis(ABC):
    r"""Matrices :math:`\mathbf{B}_0, \dots, \mathbf{B}_K` of a graph, none of which is formed.

    A filter is a sum :math:`\mathbf{R} = \sum_k \theta_k \mathbf{B}_k`, and :meth:`respond` gives
    its full response :math:`\mathbf{R}\mathbf{H}` with gradients in both factors.
    """

    matrix: sp.csr_array
    num_nodes: int
    num_terms: int

    @abstractmethod
    def terms(self, hidden: Tensor) -> Tensor:
        r"""Return every :math:`\mathbf{B}_k \mathbf{H}` without gradients: ``[K + 1, n, h]``."""

    def sums(self, hidden: Tensor, coefficients: Tensor) -> Tensor:
        """Return the responses without gradients."""
        return _combine(coefficients, self.terms(hidden))

    def slopes(self, hidden: Tensor, upstream: Tensor) -> Tensor:
        r"""Return :math:`\langle \mathbf{B}_k \mathbf{H}, \mathbf{G}_f \rangle`, the gradient in θ.

        Shapes:
            - hidden: ``[n, h]``; upstream: ``[f, n, h]``
            - output: ``[f, K + 1]``
        """
        # [f, n·h] times [n·h, K + 1]
        return upstream.flatten(1) @ self.terms(hidden).flatten(1).t()

    @abstractmethod
    def adjoint(self, upstream: Tensor, coefficients: Tensor) -> Tensor:
        r"""Return :math:`\sum_{fk} \theta_{fk} \mathbf{B}_k^\top \mathbf{G}_f`.

        Shapes:
            - upstream: ``[f, n, h]``; coefficients: ``[f, K + 1]``
            - output: ``[n, h]``
        """

    def respond(self, hidden: Tensor, coefficients: Tensor) -> Tensor:
        r"""Return :math:`\sum_k \theta_{fk} \mathbf{B}_k \mathbf{H}` for each filter f.

        Shapes:
            - hidden: ``[n, h]``; coefficients: ``[f, K + 1]``
            - output: ``[f, n, h]``
        """
        if torch.is_grad_enabled():
            response: Tensor = _Response.apply(self, hidden, coefficients)  # type: ignore[no-untyped-call]
            return response
        return self.sums(hidden, coefficients)


class ChebyshevBasis(PolynomialBasis):
    r"""The Chebyshev polynomials :math:`T_0(\tilde{\mathbf{A}}), \dots, T_K(\tilde{\mathbf{A}})`.

    Args:
        matrix: the normalised adjacency, symmetric, with eigenvalues in [-1, 1].
        order: K.

    Example:
        >>> basis = ChebyshevBasis(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), order=2)
        >>> basis.respond(torch.eye(2), torch.tensor([[0.0, 1.0, 2.0]])).tolist()
        [[[2.0, 1.0], [1.0, 2.0]]]
    """

    def __init__(self, matrix: sp.csr_array, order: int) -> None:
        self.matrix = matrix
        self.num_nodes, self.num_terms = matrix.shape[0], order + 1
        self._once, self._twice = (PlacedMatrix(csr_of(one)) for one in (matrix, 2 * matrix))

    def terms(self, hidden: Tensor) -> Tensor:
        return torch.stack(list(self.iterate(hidden)))

    def iterate(self, hidden: Tensor) -> Iterator[Tensor]:
        """Yield what :meth:`terms` returns, one at a time: two of them are in memory at once."""
        before, current = hidden, hidden
        yield hidden
        for k in range(1, self.num_terms):
            matrix = (self._once if k == 1 else self._twice).on(hidden.device)
            product = multiply_sparse(matrix, current.contiguous())
            before, current = current, product if k == 1 else product.sub_(before)
            yield current

    def sums(self, hidden: Tensor, coefficients: Tensor) -> Tensor:
        if not self._in_one_call(hidden):
            return super().sums(hidden, coefficients)
        hidden, theta = hidden.detach().contiguous(), coefficients.detach().contiguous()
        tables = hidden.new_empty(3, *hidden.shape)
        out = hidden.new_empty(theta.size(0), *hidden.shape)
        respond_chebyshev(
            *csr_arrays(self._twice.matrix), *(one.numpy() for one in (theta, hidden, tables, out))
        )
        return out

    def slopes(self, hidden: Tensor, upstream: Tensor) -> Tensor:
        if not self._in_one_call(hidden):
            return super().slopes(hidden, upstream)
        tables = hidden.new_empty(3, *hidden.shape)
        out = torch.empty(upstream.size(0), self.num_terms, dtype=torch.float64)
        arrays = (hidden.detach().contiguous(), upstream, tables, out)
        respond_slopes(*csr_arrays(self._twice.matrix), *(one.numpy() for one in arrays))
        return out.to(hidden.dtype)

    def adjoint(self, upstream: Tensor, coefficients: Tensor) -> Tensor:
        if not self._in_one_call(upstream):
            parts = _combine(coefficients.t(), upstream)
            once = self._once.on(upstream.device)
            return chebyshev_sum(lambda hidden: multiply_sparse(once, hidden), parts)
        tables = upstream.new_empty(3, *upstream.shape[1:])
        theta = coefficients.detach().contiguous()
        respond_adjoint(
            *csr_arrays(self._twice.matrix), *(one.numpy() for one in (theta, upstream, tables))
        )
        return tables[0]

    def _in_one_call(self, dense: Tensor) -> bool:
        """Whether one compiled call does it: small products don't pay for several threads."""
        small = self._once.matrix.values().numel() * dense.size(-1) <= PARALLEL_FROM
        single = small or torch.get_num_threads() == 1
        return single and is_float32_on_cpu(dense) and dense.size(-1) % LANES == 0


class WordBasis(PolynomialBasis):
    r"""Products of :math:`\mathbf{N}` and :math:`\mathbf{N}^\top`, such as
    :math:`\mathbf{N}\mathbf{N}^\top`.

    Args:
        matrix: the normalised adjacency N of a directed graph.
        words: the products, each by its factors, that which is applied first in front.

    Example:
        >>> edge = sp.csr_array([[0.0, 1.0], [0.0, 0.0]])
        >>> basis = WordBasis(edge, [(False,), (True, False)])
        >>> basis.terms(torch.tensor([[3.0], [5.0]])).flatten(1).tolist()
        [[5.0, 0.0], [3.0, 0.0]]
    """

    def __init__(self, matrix: sp.csr_array, words: Sequence[Word]) -> None:
        self.matrix, self.words = matrix, tuple(words)
        self.num_nodes, self.num_terms = matrix.shape[0], len(self.words)
        matrices = matrix, sp.csr_array(matrix.T)
        self._matrices = tuple(PlacedMatrix(csr_of(one)) for one in matrices)
        prefixes = {word[:stop] for word in self.words for stop in range(1, len(word) + 1)}
        self._prefixes = sorted(prefixes, key=lambda word: (len(word), word))

    def terms(self, hidden: Tensor) -> Tensor:
        known: dict[Word, Tensor] = {(): hidden}
        for word in self._prefixes:
            matrix = self._matrices[word[-1]].on(hidden.device)
            known[word] = multiply_sparse(matrix, known[word[:-1]].contiguous())
        return torch.stack([known[word] for word in self.words])

    def adjoint(self, upstream: Tensor, coefficients: Tensor) -> Tensor:
        parts = _combine(coefficients.t(), upstream)
        total: dict[Word, Tensor] = {}
        for word, part in zip(self.words, parts, strict=True):
            total[word] = total[word] + part if word in total else part
        for word in reversed(self._prefixes):
            matrix = self._matrices[not word[-1]].on(upstream.device)
            back = multiply_sparse(matrix, total.pop(word).contiguous())
            before = word[:-1]
            total[before] = total[before] + back if before in total else back
        return total[()]


class _Response(torch.autograd.Function):
    """The responses of filters, with one pass over the products for all of them."""

    @staticmethod
    def forward(ctx: Any, basis: PolynomialBasis, hidden: Tensor, coefficients: Tensor) -> Tensor:
        ctx.basis = basis
        ctx.save_for_backward(hidden, coefficients)
        return basis.sums(hidden, coefficients)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        hidden, coefficients = ctx.saved_tensors
        upstream, basis = upstream.contiguous(), ctx.basis
        back = basis.adjoint(upstream, coefficients) if ctx.needs_input_grad[1] else None
        slopes = basis.slopes(hidden, upstream) if ctx.needs_input_grad[2] else None
        return None, back, slopes


def _combine(coefficients: Tensor, terms: Tensor) -> Tensor:
    """Return weighted sums of terms: ``[f, k]`` and ``[k, n, h]`` to ``[f, n, h]``."""
    return (coefficients @ terms.flatten(1)).view(-1, *terms.shape[1:])
