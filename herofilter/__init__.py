"""HeroFilter: node classification with learned spectral patches and an MLP-Mixer."""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
