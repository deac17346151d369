"""Linear algebra of graphs: normalised adjacency, eigenbases, filters g(λ), scores."""

from herofilter.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
