"""HeroFilter and Fast-HeroFilter, built for a graph from a configuration."""

from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.config import Config
from herofilter.data import is_directed
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.nn.herofilter import HeroFilter
from herofilter.nn.label_shares import LabelShares
from herofilter.nn.parameters import check_parameters
from herofilter.nn.registry import register_model
from herofilter.patchers import (
    FastPatcher,
    LearnedPatcher,
    LocalPatcher,
    Patches,
    PatchStore,
    PolynomialPatcher,
    RelationSummary,
    SpectralPatcher,
)
from herofilter.patchers.fast import TRANSPOSED, TWO_HOP
from herofilter.patchers.filter_bank import RELATION_WORDS
from herofilter.patchers.store_writer import STORED_FROM, stored_patches
from herofilter.settings import POLYNOMIAL_FILTERS
from herofilter.spectral import make_filter, normalised_adjacency

SPECTRAL_LIMIT = 4000
SUMMARY_LIMIT = 50_000
_WITH_START = ("adaptive", "shared", "chebyshev")


def choose_patcher(data: Data, config: Config) -> str:
    """Return the patcher that is used for this graph, which is never ``auto``."""
    if config.patcher.patcher != "auto":
        return config.patcher.patcher
    if config.patcher.filter not in POLYNOMIAL_FILTERS:
        return "spectral"
    return "polynomial" if int(data.num_nodes or 0) <= SUMMARY_LIMIT else "local"


def resolve(data: Data, config: Config) -> Config:
    """Return the configuration with every setting that depends on the graph replaced by its value.

    ``auto`` becomes the value for this graph. On an undirected graph a relation and its reverse
    are the same, and only one of them is kept. Summaries of relations are switched off on a graph
    too large for products with all edges at each step. Built with ``literal=True``, the result
    gives a model of the same shape on another graph; resolving it again for the same graph doesn't
    change it.

    Example:
        >>> from herofilter.data import csbm
        >>> resolve(csbm(num_nodes=100), Config()).patcher.patcher
        'polynomial'
    """
    config = resolve_defaults(data, config)
    settings = config.patcher
    patcher = choose_patcher(data, config)
    directed, relations = settings.directed, settings.relations
    if directed == "symmetrise" or not is_directed(data):
        directed = "symmetrise"
        steps = {name in TWO_HOP: name for name in reversed(relations)}
        relations = tuple(name for name in relations if name in steps.values())
    small = int(data.num_nodes or 0) <= SUMMARY_LIMIT
    affordable = patcher in ("polynomial", "spectral") or (patcher == "fast" and small)
    return config.replace(
        patcher=patcher,
        directed=directed,
        relations=relations,
        summary=config.model.summary and affordable,
        label_shares=config.model.label_shares and small,
    )


def fast_patcher(data: Data, config: Config) -> FastPatcher:
    """Return the fast patcher of a configuration."""
    return _fast_patcher(resolve(data, config))


def _fast_patcher(config: Config) -> FastPatcher:
    settings = config.patcher
    return FastPatcher(
        patch_size=settings.patch_size,
        c=settings.c,
        tolerance=settings.tolerance,
        self_loops=settings.self_loops,
        directed=settings.directed,
        ego=settings.ego,
        relations=settings.relations,
        refine=settings.refine,
        hub_limit=settings.hub_limit,
    )


def make_summary(data: Data, config: Config) -> RelationSummary | None:
    """Return the summaries of the fast patcher's relations, or None if the model has none."""
    return _make_summary(data, resolve(data, config))


def _make_summary(data: Data, config: Config) -> RelationSummary | None:
    if config.patcher.patcher != "fast" or not config.model.summary:
        return None
    return RelationSummary(data, _fast_patcher(config))


def make_patcher(
    data: Data,
    config: Config,
    callback: Callback | None = None,
    nodes: Tensor | None = None,
) -> LearnedPatcher | Patches:
    """Return the patcher of a configuration for ``data``: a learned filter, or fixed patches.

    With ``nodes``, patches are made only for these nodes, unless they need eigenvectors. A graph
    with a ``patch_store`` has its patches there, and nothing is made. The
    patches of a large graph are kept in the cache folder. ``callback`` takes events of stage
    ``rows`` while they are made.
    """
    return _make_patcher(data, resolve(data, config), callback, nodes)


def _make_patcher(
    data: Data, config: Config, callback: Callback | None, nodes: Tensor | None
) -> LearnedPatcher | Patches:
    settings = config.patcher
    if settings.patcher == "fast":
        fast = _fast_patcher(config)
        store = data.get("patch_store")
        if isinstance(store, PatchStore):
            return store.patches()
        if nodes is None and int(data.num_nodes or 0) >= STORED_FROM:
            return stored_patches(fast, data, callback)
        return fast(data, nodes, callback).for_all_nodes()
    keeps = settings.directed == "keep"
    if settings.patcher == "local":
        fixed = settings.relations if keeps else ()
        return LocalPatcher(data, _fast_patcher(config), fixed, settings.filter_order, nodes)
    if settings.patcher == "polynomial":
        return PolynomialPatcher(
            data,
            patch_size=settings.patch_size,
            starts=settings.filter_starts,
            order=settings.filter_order,
            self_loops=settings.self_loops,
            ego=settings.ego,
            relations=settings.relations if keeps else (),
            nodes=nodes,
        )
    starts, sides, names = _filters(config)
    filters = [
        make_filter(
            settings.filter,
            order=settings.filter_order,
            activation=settings.activation,
            start=start,
            c=settings.c,
        )
        for start in starts
    ]
    return SpectralPatcher(
        data,
        patch_size=settings.patch_size,
        filters=filters,
        num_eigenpairs=settings.num_eigenpairs or None,
        self_loops=settings.self_loops,
        ego=settings.ego,
        directed="symmetrise" if sides is None else "keep",
        sides=sides,
        selection=settings.selection,
        names=names,
    )


def _filters(
    config: Config,
) -> tuple[tuple[str, ...], list[str] | None, tuple[str, ...] | None]:
    """Return the start of each filter and, on a directed graph, its side and its name."""
    settings = config.patcher
    if settings.directed == "keep":
        relations = settings.relations
        return (
            tuple("hop2" if name in TWO_HOP else "hop1" for name in relations),
            ["in" if name in TRANSPOSED else "out" for name in relations],
            relations,
        )
    # only polynomial filters have a start; two of another kind would be the same filter
    several = settings.filter in _WITH_START
    return settings.filter_starts[: None if several else 1], None, None


@register_model(
    "herofilter",
    paper="HeroFilter (NeurIPS 2025)",
    needs="the edges and n·p patch entries",
    scales=True,
    directed=True,
    batches=True,
    by_rows=True,
)
def build_herofilter(
    data: Data,
    config: Config,
    spec: GraphSpec,
    nodes: Tensor | None = None,
    *,
    literal: bool = False,
) -> NodeClassifier:
    """Build HeroFilter with the patcher that ``config`` names, for ``nodes`` or for all.

    With ``literal`` the configuration is used as it is: it comes from :func:`resolve`, maybe for
    another graph.
    """
    if not literal:
        config = resolve(data, config)
    check_parameters(config, spec, mixer=True)
    return HeroFilter(
        spec.in_channels,
        spec.num_classes,
        _make_patcher(data, config, None, nodes),
        config.model,
        num_embeddings=spec.num_embeddings if config.model.node_vectors else 0,
        relations=_make_summary(data, config),
        shares=_make_shares(data, config, spec),
    )


def _make_shares(data: Data, config: Config, spec: GraphSpec) -> LabelShares | None:
    model, settings = config.model, config.patcher
    if not model.label_shares:
        return None
    matrix = normalised_adjacency(
        data.edge_index,
        int(data.num_nodes or 0),
        data.get("edge_weight"),
        self_loops=False,
        directed=settings.directed,
    )
    names = settings.relations if settings.directed == "keep" else ("out", "cocitation")
    words = [RELATION_WORDS[name] for name in names]
    width = model.hidden_channels if model.stem else spec.in_channels
    return LabelShares(matrix, words, spec.num_classes, width, model.label_mask)


@register_model(
    "fast-herofilter",
    paper="HeroFilter (NeurIPS 2025)",
    needs="n·p patch entries",
    scales=True,
    directed=True,
    batches=True,
    by_rows=True,
)
def build_fast_herofilter(data: Data, config: Config, spec: GraphSpec) -> NodeClassifier:
    """Build HeroFilter on personalised-PageRank patches."""
    return build_herofilter(data, config.replace(patcher="fast"), spec)
