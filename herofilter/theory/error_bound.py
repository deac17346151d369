"""Theorem 1: a bound on the squared error of a filter, and the error that it bounds."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.errors import GraphError
from herofilter.theory.assumptions import Assumption, Checked, value_range
from herofilter.theory.graph_spectrum import GraphSpectrum, graph_spectrum
from herofilter.theory.heterophily_spectrum import heterophily_spectrum
from herofilter.theory.mean_response import MeanResponseBound, mean_response_bound

# c₁ as the paper's proof has it: twice (1/4 + 217/2304 + 1/(1 + e)²)
PRINTED_CONSTANT = 2 * (1 / 4 + 217 / 2304 + (1 + math.e) ** -2)
# what the chain of the proof needs if no node is right by a margin above one
MARGIN_CONSTANT = 1 / 2 + 2 * (1 + math.e) ** -2
# what it needs for any margins
CLAMPED_CONSTANT = 3 / 2
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ErrorBound(Checked):
    r"""Both sides of Theorem 1, the quantities in them, and two bounds that hold.

    Args:
        error: :math:`\overline{Er} = \frac{1}{n}\|\mathrm{softmax}(\mathbf{Z}) - \mathbf{Y}\|_F^2`
            with :math:`\mathbf{Z} = \mathbf{U} g \mathbf{U}^\top \mathbf{X}`; from 0 to 2, and 1/2
            for a prediction of one half everywhere.
        bound: the right side as printed, with the c₁ of the proof.
        corrected_bound: :math:`\frac12 + \frac{2}{(1+e)^2} - \frac{m}{2n}\sum_{\mathcal{I}} g_i`
            with :math:`m = \min \eta_i\delta_i`; holds if g ≥ 0 and no margin exceeds 1.
        clamped_bound: :math:`\frac32 - \frac{1}{2n}\sum_l \psi(s_l)`; always holds.
        min_product: :math:`m_g = \min \tilde\eta_i\delta_i` over ``active``; 0 if that is empty.
        delta: [n], :math:`\mathbf{U}^\top(\mathbf{y}_1 - \mathbf{y}_0)`.
        eta: [n], :math:`\mathbf{U}^\top(\mathbf{X}_1 - \mathbf{X}_0)`.
        eta_clamped: [n], :math:`\tilde\eta_i = \psi_{1/(g_i\delta_i)}(\eta_i)`.
        margins: [n], :math:`s_l = (y_1 - y_0)_l (z_1 - z_0)_l`, positive where the node is right.
        active: [n], the index set :math:`\mathcal{I}_{g,\delta,\eta}`.
        support: [n], the index set :math:`\mathcal{I}_{\delta,\tilde\eta}`.
        mean_response: Proposition 1 on ``support``; None if that is empty.
    """

    error: float
    bound: float
    corrected_bound: float
    clamped_bound: float
    min_product: float
    delta: Tensor
    eta: Tensor
    eta_clamped: Tensor
    margins: Tensor
    active: Tensor
    support: Tensor
    mean_response: MeanResponseBound | None

    @property
    def printed_holds(self) -> bool:
        """Whether the error is at most the printed bound."""
        return self.error <= self.bound + _ROUNDING

    @property
    def corrected_holds(self) -> bool:
        """Whether the error is at most the corrected bound."""
        return self.error <= self.corrected_bound + _ROUNDING


def error_bound(
    spectrum: GraphSpectrum, response: Tensor, scores: Tensor, y: Tensor, h_hat: Tensor
) -> ErrorBound:
    r"""Return both sides of Theorem 1 for two classes, and which of its assumptions hold.

    Args:
        spectrum: of the graph; the proof needs no more than orthonormal vectors.
        response: [n], :math:`g_i`, the filter at eigenvector i.
        scores: [n, 2], :math:`\mathbf{X} = (\mathbf{X}_0, \mathbf{X}_1)`: what is filtered and
            then compared between the classes.
        y: [n], 0 or 1.
        h_hat: [n], ĥ.

    Example:
        >>> spectrum = GraphSpectrum(torch.tensor([0.0, 1.0]).double(), torch.eye(2).double())
        >>> scores, y = torch.tensor([[0.5, 0.0], [0.0, 0.5]]), torch.tensor([0, 1])
        >>> found = error_bound(spectrum, torch.ones(2), scores, y, torch.tensor([0.5, 0.1]))
        >>> f"{found.error:.3f} {found.bound:.3f} {found.corrected_bound:.3f}"
        '0.285 0.522 0.395'
    """
    _check(spectrum, scores, y)
    g = spectrum.response(response)
    sign = 2 * y.double() - 1
    difference = (scores[:, 1] - scores[:, 0]).detach().double()
    delta, eta = spectrum.transform(sign), spectrum.transform(difference)
    margins = sign * (spectrum.vectors @ (g * (spectrum.vectors.t() @ difference)))
    # g δ = 0 leaves η as it is
    limit = 1 / (g * delta).abs()
    eta_clamped = eta.clamp(-limit, limit)
    support = (delta != 0) & (eta_clamped != 0)
    active = support & (g != 0)
    smallest = _smallest(eta_clamped * delta, active)
    chain = mean_response_bound(g[support], h_hat[support]) if bool(support.any()) else None
    num_nodes = g.numel()
    # the bound of a mean over the support, turned into the bound of a sum
    total = 0.0 if chain is None else chain.bound * int(support.sum())
    plain = _smallest(eta * delta, active) * float(g[support].sum())
    return ErrorBound(
        assumptions=_assumptions(margins, g * eta * delta, smallest, chain),
        error=float(2 * torch.sigmoid(-margins).square().mean()),
        bound=PRINTED_CONSTANT - (smallest * total / (2 * num_nodes) if smallest else 0.0),
        corrected_bound=MARGIN_CONSTANT - plain / (2 * num_nodes),
        clamped_bound=CLAMPED_CONSTANT - float(margins.clamp(-1, 1).mean()) / 2,
        min_product=smallest,
        delta=delta,
        eta=eta,
        eta_clamped=eta_clamped,
        margins=margins,
        active=active,
        support=support,
        mean_response=chain,
    )


def graph_error_bound(
    data: Data,
    g: Callable[[Tensor], Tensor] | Tensor,
    scores: Tensor,
    *,
    spectrum: GraphSpectrum | None = None,
) -> ErrorBound:
    """Return :func:`error_bound` of a graph whose nodes all have the label 0 or 1.

    Args:
        data: the graph.
        g: the filter, a function of the eigenvalues λ of Ã, or its values at them. The paper
            writes g(1 - λ) here: its function of the Laplacian.
        scores: [n, 2], such as the logits of a model that doesn't see the edges.
        spectrum: of ``data``, if it is known already.
    """
    known = graph_spectrum(data) if spectrum is None else spectrum
    h_hat = heterophily_spectrum(data, known).h_hat
    return error_bound(known, known.response(g), scores, data.y, h_hat)


def _check(spectrum: GraphSpectrum, scores: Tensor, y: Tensor) -> None:
    num_nodes = spectrum.num_nodes
    if y.shape != (num_nodes,) or not bool(((y == 0) | (y == 1)).all()):
        raise GraphError(
            f"y must hold 0 or 1 for each of the {num_nodes} nodes (got shape {list(y.shape)}, "
            f"values {value_range(y)}); Theorem 1 is about two classes"
        )
    if scores.shape != (num_nodes, 2):
        raise GraphError(
            f"scores must have two columns, one per class, and {num_nodes} rows "
            f"(got shape {list(scores.shape)}); map features to two logits first"
        )


def _smallest(products: Tensor, active: Tensor) -> float:
    return float(products[active].min()) if bool(active.any()) else 0.0


def _assumptions(
    margins: Tensor, products: Tensor, smallest: float, chain: MeanResponseBound | None
) -> tuple[Assumption, ...]:
    inherited = () if chain is None else chain.assumptions
    largest, lowest, most = float(margins.max()), float(products.min()), 1 + _ROUNDING
    return (
        *inherited,
        Assumption("some index with δᵢ and ηᵢ nonzero", chain is not None, "none"),
        Assumption("no node right by a margin above 1", largest <= most, f"{largest:.4g}"),
        Assumption("every g(λᵢ) ηᵢ δᵢ ≥ -1", lowest >= -most, f"at least {lowest:.4g}"),
        Assumption("min η̃ᵢ δᵢ ≤ 0", smallest <= 0, f"{smallest:.4g}"),
    )
