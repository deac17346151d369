"""The models that HeroFilter is compared with; importing this room registers them all."""

from herofilter.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
