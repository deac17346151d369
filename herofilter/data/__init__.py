"""Graphs in: named datasets, the user's tables and files, synthetic graphs, splits and checks."""

from herofilter.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
