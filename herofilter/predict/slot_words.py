"""The parts of a patch in words that need no knowledge of the field."""

_OF_A_DIRECTED = {
    "ego": "the node itself",
    "out": "nodes that it points to, directly or over others",
    "in": "nodes that point to it, directly or over others",
    "coreference": "nodes that point to the same nodes as it does",
    "cocitation": "nodes that the same nodes point to",
    "patch": "nodes that were chosen for it",
}
_OF_AN_UNDIRECTED = {
    **_OF_A_DIRECTED,
    "out": "nodes near it: its neighbours, and theirs",
    "in": "nodes near it: its neighbours, and theirs",
    "coreference": "nodes with the same neighbours as it has",
    "cocitation": "nodes with the same neighbours as it has",
}
_FILTER = "nodes that a filter, learned from this graph, finds"
# beyond this |λ| a filter follows mostly one of the two
_CLEAR = 0.3


def slot_words(slot: str, directed: bool, eigenvalue: float | None = None) -> str:
    """Return what the nodes in a slot have to do with the node that is classified.

    Args:
        slot: a name such as ``cocitation`` or ``filter-0``.
        directed: whether edges have a direction.
        eigenvalue: where the filter of the slot answers most, if it has one: near 1 it follows
            what is alike along edges, near -1 what changes from neighbour to neighbour.

    Example:
        >>> slot_words("cocitation", directed=True)
        'nodes that the same nodes point to'
        >>> slot_words("filter-1", directed=False, eigenvalue=-0.9)
        'nodes that a filter, learned from this graph, finds by what differs between neighbours'
    """
    known = _OF_A_DIRECTED if directed else _OF_AN_UNDIRECTED
    if slot in known:
        return known[slot]
    if slot.startswith("labels-"):
        return "the known classes around it"
    if eigenvalue is None:
        return _FILTER
    if abs(eigenvalue) < _CLEAR:
        return f"{_FILTER} by both what neighbours share and what differs between them"
    followed = "neighbours share" if eigenvalue > 0 else "differs between neighbours"
    return f"{_FILTER} by what {followed}"
