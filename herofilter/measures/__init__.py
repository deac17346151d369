"""What can be said of a graph before any model: heterophily, leakage, the data card."""

from herofilter.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
