"""The mixer, the HeroFilter model and the registry of models."""

from herofilter.nn.build import build_fast_herofilter, build_herofilter
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.herofilter import HeroFilter
from herofilter.nn.mixer import MixerBlock
from herofilter.nn.onnx import export_onnx
from herofilter.nn.registry import find_model, list_models, register_model
from herofilter.nn.serving import serving_inputs

__all__ = [
    "HeroFilter",
    "MixerBlock",
    "NodeClassifier",
    "build_fast_herofilter",
    "build_herofilter",
    "export_onnx",
    "find_model",
    "list_models",
    "register_model",
    "serving_inputs",
]
