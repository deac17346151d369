"""Training: the loop, the protocol over splits, and what a run leaves behind."""

from herofilter.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
