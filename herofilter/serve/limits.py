"""How large a request may be."""

from dataclasses import dataclass

from herofilter.errors import ConfigError

EDGES_PER_NODE = 10


@dataclass(frozen=True)
class Limits:
    """What a request may ask for.

    Args:
        max_nodes: ids and nodes of a request, and predictions of an answer.
        max_bytes: size of a request's body.

    Example:
        >>> Limits(max_nodes=100).max_edges
        1000
    """

    max_nodes: int = 10_000
    max_bytes: int = 8 * 2**20

    def __post_init__(self) -> None:
        for name in ("max_nodes", "max_bytes"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1 (got {getattr(self, name)})")

    @property
    def max_edges(self) -> int:
        """Edges of a request: ten times the nodes."""
        return EDGES_PER_NODE * self.max_nodes
