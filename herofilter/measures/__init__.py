"""What can be said of a graph before any model: heterophily, leakage, the data card."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
