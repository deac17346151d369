"""The mixer, the HeroFilter model and the registry of models."""

from herofilter.nn.build import build_fast_herofilter, build_herofilter
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.herofilter import HeroFilter
from herofilter.nn.mixer import MixerBlock
from herofilter.nn.registry import find_model, list_models, register_model

__all__ = [
    "HeroFilter",
    "MixerBlock",
    "NodeClassifier",
    "build_fast_herofilter",
    "build_herofilter",
    "find_model",
    "list_models",
    "register_model",
]
