"""Refuse a model whose weights can't fit into memory before they are made."""

from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.memory import check_memory

# of the mixer's feature MLP
_WIDEST = 256
_FLOAT = 4


def check_parameters(config: Config, spec: GraphSpec, mixer: bool) -> None:
    """Raise an :class:`OutOfMemoryError` if the weights alone take more memory than is free.

    The count is a lower bound, with the layers that every model has.

    Args:
        config: the settings.
        spec: the sizes of the graph.
        mixer: whether the layers are those of HeroFilter, or of a baseline.
    """
    width, layers = config.model.hidden_channels, config.model.num_layers
    inner = min(width, _WIDEST) if mixer else width
    ends = width * (spec.in_channels + spec.num_classes + spec.num_embeddings)
    check_memory(
        _FLOAT * (ends + layers * width * inner),
        f"a model of hidden_channels={width} and num_layers={layers}",
        "lower one of them",
    )
