"""Graphs in: named datasets, the user's tables and files, synthetic graphs, splits and checks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
