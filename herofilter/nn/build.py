"""HeroFilter and Fast-HeroFilter, built for a graph from a configuration."""

from collections.abc import Callable

from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.herofilter import HeroFilter
from herofilter.nn.registry import num_classes, num_embeddings, register_model
from herofilter.patchers import FastPatcher, Patches, SpectralPatcher
from herofilter.spectral import make_filter

SPECTRAL_LIMIT = 6000
_WITH_START = ("adaptive", "shared")


def choose_patcher(data: Data, config: Config) -> str:
    """Return ``spectral`` or ``fast``: what ``auto`` means for this graph."""
    if config.patcher.patcher != "auto":
        return config.patcher.patcher
    small = int(data.num_nodes or 0) <= SPECTRAL_LIMIT
    return "spectral" if small and config.patcher.directed == "symmetrise" else "fast"


def make_patcher(
    data: Data, config: Config, progress: Callable[[int, int], None] | None = None
) -> SpectralPatcher | Patches:
    """Return the patcher that a configuration asks for, ready for ``data``."""
    settings = config.patcher
    if choose_patcher(data, config) == "fast":
        patcher = FastPatcher(
            patch_size=settings.patch_size,
            c=settings.c,
            tolerance=settings.tolerance,
            self_loops=settings.self_loops,
            directed=settings.directed,
            ego=settings.ego,
        )
        return patcher(data, progress=progress)
    filters = [
        make_filter(
            settings.filter,
            order=settings.filter_order,
            activation=settings.activation,
            start=start,
            c=settings.c,
        )
        # only polynomial filters have a start; of the others, two would be the same twice
        for start in settings.filter_starts[: None if settings.filter in _WITH_START else 1]
    ]
    return SpectralPatcher(
        data,
        patch_size=settings.patch_size,
        filters=filters,
        num_eigenpairs=settings.num_eigenpairs or None,
        self_loops=settings.self_loops,
        ego=settings.ego,
    )


@register_model(
    "herofilter",
    paper="HeroFilter (NeurIPS 2025)",
    needs="the eigenvectors of the graph up to 6000 nodes, else n·p patch entries",
    scales=True,
)
def build_herofilter(data: Data, config: Config) -> NodeClassifier:
    """Build HeroFilter with the patcher that ``config`` names."""
    return HeroFilter(
        data.num_features,
        num_classes(data),
        make_patcher(data, config),
        config.model,
        num_embeddings=num_embeddings(data),
    )


@register_model(
    "fast-herofilter",
    paper="Fast-HeroFilter (NeurIPS 2025)",
    needs="n·p patch entries",
    scales=True,
)
def build_fast_herofilter(data: Data, config: Config) -> NodeClassifier:
    """Build HeroFilter on personalised-PageRank patches."""
    return build_herofilter(data, config.replace(patcher="fast"))
