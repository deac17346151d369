"""The relation of a graph filter: PageRank by local push, others by their recurrence."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from herofilter.errors import ConfigError
from herofilter.patchers.polynomial.local import EPS, LocalPolynomial
from herofilter.patchers.ppr.push_graph import PushGraph
from herofilter.patchers.relations import PushRelation, Relation

PUSH_TOLERANCE = 1e-5


@dataclass(frozen=True)
class PageRank:
    r"""The series :math:`(1-c)\sum_k c^k \tilde{\mathbf{A}}^k` of personalised PageRank."""

    c: float

    def __post_init__(self) -> None:
        if not 0 <= self.c < 1:
            raise ConfigError(f"c must be at least 0 and below 1 (got {self.c})")


def polynomial_relation(
    adjacency: sp.csr_array | PushGraph,
    description: PageRank | np.ndarray,
    *,
    eps: float | None = None,
    ego_first: bool = True,
    refine: int = 0,
    margin: float = 0.01,
    ends: np.ndarray | None = None,
    files: Mapping[str, Path] | None = None,
) -> Relation:
    """Return the relation that ranks nodes by a filter of the normalised adjacency.

    PageRank has no negative terms, so that local push is faster and its bounds are tighter.

    Args:
        adjacency: the adjacency matrix, not normalised, or the graph made from it.
        description: a PageRank series, or the coefficients of Chebyshev polynomials [K + 1].
        eps: what isn't followed further; by default what suits the method.
        ego_first, refine, margin: as for :class:`PushRelation` and :class:`LocalPolynomial`.
        ends, files: as for :class:`PushRelation`.

    Example:
        >>> pair = sp.csr_array([[1.0, 1.0], [1.0, 1.0]])
        >>> type(polynomial_relation(pair, PageRank(0.5))).__name__
        'PushRelation'
        >>> type(polynomial_relation(pair, np.array([0.0, 1.0]))).__name__
        'LocalPolynomial'
    """
    if isinstance(description, PageRank):
        limit = PUSH_TOLERANCE if eps is None else eps
        return PushRelation(adjacency, description.c, limit, ego_first, refine, margin, ends, files)
    if files is not None:
        raise ConfigError("edges can't stay on disk for a learned filter; let them be mapped")
    limit = EPS if eps is None else eps
    return LocalPolynomial(adjacency, description, limit, ego_first, refine, margin)
