"""The paper's definitions, propositions and theorem as functions: both sides, each assumption."""

from herofilter.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
