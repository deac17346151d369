"""The memory that a spectral patcher takes."""

from herofilter.spectral.eigen import eigen_memory, num_kept

BLOCK_BYTES = 256 * 2**20


def spectral_memory(num_nodes: int, num_eigenpairs: int | None = None) -> int:
    """Return about how many bytes a spectral patcher takes at its peak.

    Either the decomposition takes the most, or the scores of many nodes with all others.

    Example:
        >>> spectral_memory(20_000, 64) < spectral_memory(20_000)
        True
    """
    scores = score_memory(num_nodes, num_eigenpairs)
    return max(eigen_memory(num_nodes, num_eigenpairs), scores)


def score_memory(num_nodes: int, num_eigenpairs: int | None = None, directed: bool = False) -> int:
    """Return about how many bytes it takes to rank all nodes, the vectors included."""
    vectors = 4 * num_nodes * num_kept(num_nodes, num_eigenpairs) * (2 if directed else 1)
    every = 4 * num_nodes**2
    # a block of scores beside its rounded copy, and the block before it
    return vectors + (2 * every if every <= BLOCK_BYTES else 3 * BLOCK_BYTES)
