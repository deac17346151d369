"""HeroFilter: node classification with learned spectral patches and an MLP-Mixer."""

from herofilter.lazy_names import attach_stub

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
