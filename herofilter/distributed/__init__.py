"""Work on many machines: patches, training and predictions on Ray, training under torchrun."""

from herofilter.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
