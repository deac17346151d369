from .build import (
    build_fast_herofilter as build_fast_herofilter,
    build_herofilter as build_herofilter,
)
from .classifier import (
    NodeClassifier as NodeClassifier,
)
from .herofilter import (
    HeroFilter as HeroFilter,
)
from .inference.onnx import (
    export_onnx as export_onnx,
)
from .inference.serving import (
    serving_inputs as serving_inputs,
)
from .mixer import (
    MixerBlock as MixerBlock,
)
from .registry import (
    find_model as find_model,
    list_models as list_models,
    register_model as register_model,
)
