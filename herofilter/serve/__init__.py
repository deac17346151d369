"""A model as an HTTP service: predictions and explanations as JSON."""

from herofilter.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
