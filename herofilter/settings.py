"""The settings by section: how patches are chosen, what the model is, how it is trained.

None, written ``auto``, leaves a setting to the graph: see :mod:`herofilter.nn.graph_defaults`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from herofilter.errors import ConfigError, check_choice

PATCHERS = ("auto", "polynomial", "local", "spectral", "fast")
AGGREGATIONS = ("slot_concat", "ego_concat", "weighted", "flatten", "mean", "sum")
SCORE_NORMS = ("max", "l1", "raw", "straight_through")
NORMS = ("feature", "patch", "none")
MONITORS = ("accuracy", "auc", "loss")
FEATURE_SCALINGS = ("auto", "standard", "rows", "none")
RELATIONS = ("out", "in", "coreference", "cocitation")
SELECTIONS = ("top", "signed")
LAYER_NORMS = ("own", "layer", "batch", "none")
CONVOLUTIONS = ("own", "gcn", "sage")
DIRECTIONS = ("own", "both", "in", "out")
POLYNOMIAL_FILTERS = ("adaptive", "chebyshev")
DEVICES = ("auto", "cpu", "cuda", "mps")
BASES = ("own", "monomial", "bernstein", "chebyshev")


@dataclass(frozen=True)
class PatcherConfig:
    """How each node's patch is chosen.

    Args:
        patcher: ``polynomial`` learns a polynomial filter together with the model, ``local`` one
            from the training labels before it; ``auto`` takes the first up to 50 000 nodes, then
            the second, and ``spectral`` for a ``filter`` that only that one has. ``spectral``
            learns a filter on the graph's eigenvectors (the paper), ``fast`` ranks by personalised
            PageRank.
        patch_size: p, the number of tokens, the node itself included.
        ego: ``first`` puts the node itself into slot 0; ``ranked`` lets it compete (the paper).
        filter: kind of g(λ) of the spectral patcher. The polynomial patchers have ``chebyshev``,
            which is also what they take ``adaptive`` for.
        filter_starts: one parallel filter per name; each fills its own slots.
        filter_order: K.
        activation: σ of the spectral patcher's filters, with σ(0) = 0.
        num_eigenpairs: how many eigenvalues of largest modulus the spectral patcher keeps; 0 keeps
            all.
        self_loops: whether Ã has ones on its diagonal before it is normalised.
        directed: ``keep`` follows the direction of edges, ``symmetrise`` forgets it (the paper).
        relations: what a node's patch is filled from, each with its own slots. ``out`` and ``in``
            follow edges forwards and backwards; ``coreference`` are nodes that point to the same
            nodes, ``cocitation`` nodes that the same nodes point to. The polynomial patcher puts
            its learned filters beside them. Without directions ``in`` is ``out`` and the last two
            are both the second hop, and the learned patchers have their filters alone.
        selection: ``top`` takes the largest scores, ``signed`` half of them and half of the
            smallest (spectral only).
        c: the fast patcher's share of smoothness against restart.
        tolerance: the fast patcher's stopping tolerance.
        refine: edges that the fast patcher may pass over for a row until its choice is certified;
            0 stops at the tolerance.
        hub_limit: most edges of a node that ``coreference`` and ``cocitation`` go through; 0 for
            1 / ``tolerance``.
    """

    patcher: str = "auto"
    patch_size: int = 9
    ego: str = "first"
    filter: str = "adaptive"
    filter_starts: tuple[str, ...] = ("low", "hop2")
    filter_order: int = 10
    activation: str = "tanh"
    num_eigenpairs: int = 0
    self_loops: bool = False
    directed: str = "keep"
    relations: tuple[str, ...] = RELATIONS
    selection: str = "top"
    c: float = 0.5
    tolerance: float = 1e-5
    refine: int = 0
    hub_limit: int = 0

    def __post_init__(self) -> None:
        check_choice("patcher", self.patcher, PATCHERS)
        check_choice("ego", self.ego, ("first", "ranked"))
        check_choice("directed", self.directed, ("symmetrise", "keep"))
        check_choice("selection", self.selection, SELECTIONS)
        check_relations(self.relations)
        _at_least("patch_size", self.patch_size, 1)
        _at_least("num_eigenpairs", self.num_eigenpairs, 0)
        _at_least("filter_order", self.filter_order, 1)
        _at_least("refine", self.refine, 0)
        _at_least("hub_limit", self.hub_limit, 0)
        if self.patcher in ("polynomial", "local") and self.filter not in POLYNOMIAL_FILTERS:
            raise ConfigError(
                f"with patcher={self.patcher} filter must be chebyshev (got {self.filter}); "
                "set patcher=spectral"
            )
        if not self.filter_starts:
            raise ConfigError("filter_starts must name at least one filter (got none)")


@dataclass(frozen=True)
class ModelConfig:
    """The mixer; baselines use ``hidden_channels``, ``num_layers`` and the dropouts.

    Args:
        hidden_channels: h, the width.
        num_layers: m, mixer blocks of HeroFilter; layers of a baseline.
        dropout: inside the mixer and before the head; None for what fits the graph.
        input_dropout: on the features; None for what fits the graph.
        drop_path: share of the nodes that skip each mixer block in a training step (stochastic
            depth); None for what fits the graph.
        aggregation: how the patch becomes one vector.
        score_norm: how a token is scaled by its score.
        summary: add one token per filter or relation with its full response R·H.
        norm: LayerNorm over ``feature`` (the paper's algorithm), ``patch`` (its text) or none.
        expansion: hidden width of the patch MLP as a multiple of p.
        feature_expansion: that of the feature MLP as a multiple of h (256 at most).
        residual: pre-norm residual blocks; off in the paper's literal form.
        stem: project features before they are gathered; off in the paper's literal form.
        patch_mixing: whether blocks mix along the patch axis.
        feature_mixing: whether blocks mix along the feature axis.
        head_layers: layers of the classifier, 1 or 2.
        label_tokens: show the mixer the training labels of the other nodes in a patch.
        label_shares: show the mixer the class shares of a node's known neighbours, a token per
            relation; the node's own label has no part in them.
        label_mask: share of the labels shown that is hidden in each training step.
        node_vectors: give nodes learned vectors where the graph has no features.
    """

    hidden_channels: int = 64
    num_layers: int = 1
    dropout: float | None = None
    input_dropout: float | None = None
    drop_path: float | None = None
    aggregation: str = "weighted"
    score_norm: str = "l1"
    summary: bool = True
    norm: str = "feature"
    expansion: float = 1.0
    feature_expansion: float = 0.5
    residual: bool = True
    stem: bool = True
    patch_mixing: bool = True
    feature_mixing: bool = True
    head_layers: int = 1
    label_tokens: bool = False
    label_shares: bool = False
    label_mask: float = 0.5
    node_vectors: bool = True

    def __post_init__(self) -> None:
        check_choice("aggregation", self.aggregation, AGGREGATIONS)
        check_choice("score_norm", self.score_norm, SCORE_NORMS)
        check_choice("norm", self.norm, NORMS)
        _at_least("hidden_channels", self.hidden_channels, 1)
        _at_least("num_layers", self.num_layers, 0)
        _at_least("head_layers", self.head_layers, 1)
        for name in ("dropout", "input_dropout", "drop_path", "label_mask"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < 1.0:
                raise ConfigError(f"{name} must be at least 0 and below 1 (got {value:g})")
            if value is not None and value > _MOST_DROPPED:
                raise ConfigError(f"{name} must be at most {_MOST_DROPPED} (got {value:.12g})")
        for name in ("expansion", "feature_expansion"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0 (got {getattr(self, name):g})")
            if not getattr(self, name) <= _MOST_EXPANSION:
                raise ConfigError(f"{name} must be at most 1000 (got {getattr(self, name):g})")


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained.

    Args:
        lr: learning rate.
        weight_decay: of everything but filters and learned node vectors; None for what fits the
            graph.
        filter_lr: learning rate of filter weights, those of HeroFilter and of the baselines that
            learn one (GPRGNN, BernNet, ChebNetII); 0 takes ``lr``.
        learn_filter: whether these weights learn; off, they keep their start.
        epochs: at most so many.
        patience: epochs without improvement before training stops; None for what fits the graph.
        monitor: validation ``accuracy`` or ``auc`` (ties: lower loss), or ``loss``.
        refresh_every: epochs until patch members are chosen again; every later choice holds twice
            as long as the one before it.
        freeze_after: epochs after which the choice stays as it is; 0 for never.
        batch_size: nodes per step; 0 takes all at once up to 10 000 training nodes, else 2048; a
            model that passes over the whole graph at every step always takes all.
        class_weights: weigh classes inversely to their frequency.
        label_smoothing: share of each target that is spread over all classes.
        feature_scaling: ``standard`` gives every column mean 0 and deviation 1 on the training
            nodes, ``rows`` makes each row sum to one; ``auto`` is ``standard`` for dense features
            and ``none`` for those that are mostly zero, such as bags of words.
        seed: of weights, dropout and batches.
        device: where the network is trained: ``cpu``, ``cuda`` or ``mps``; ``auto`` takes ``cuda``
            if it is there, then ``mps``, then ``cpu``. Patches are always made on the CPU.
    """

    lr: float = 0.01
    weight_decay: float | None = None
    filter_lr: float = 0.0
    learn_filter: bool = True
    epochs: int = 500
    patience: int | None = None
    monitor: str = "accuracy"
    refresh_every: int = 25
    freeze_after: int = 0
    batch_size: int = 0
    class_weights: bool = False
    label_smoothing: float = 0.0
    feature_scaling: str = "auto"
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_choice("device", self.device, DEVICES)
        check_choice("monitor", self.monitor, MONITORS)
        check_choice("feature_scaling", self.feature_scaling, FEATURE_SCALINGS)
        _at_least("epochs", self.epochs, 1)
        _at_least("patience", 1 if self.patience is None else self.patience, 1)
        _at_least("refresh_every", self.refresh_every, 1)
        _at_least("freeze_after", self.freeze_after, 0)
        _at_least("batch_size", self.batch_size, 0)
        if not 0 <= self.label_smoothing < 1:
            raise ConfigError(
                f"label_smoothing must be at least 0 and below 1 (got {self.label_smoothing:g})"
            )
        _at_least("seed", self.seed, 0)
        if not 0 < self.lr < float("inf"):
            raise ConfigError(f"lr must be above 0 (got {self.lr:g})")
        if not 0 <= self.filter_lr < float("inf"):
            raise ConfigError(f"filter_lr must be at least 0 and finite (got {self.filter_lr:g})")
        if self.weight_decay is not None and not self.weight_decay >= 0:
            raise ConfigError(f"weight_decay must not be negative (got {self.weight_decay:g})")


@dataclass(frozen=True)
class BaselineConfig:
    """What only baselines have; the registry says which of them a model reads.

    Args:
        hops: K, the steps of a propagation, the order of a polynomial or the hops of tokens; 0
            takes the model's own.
        alpha: the share that a node keeps of itself at each step, SGFormer's share of its GCN; 0
            takes the model's own.
        heads: heads of attention; 0 takes the model's own.
        tokens: tokens, virtual nodes or entries of a codebook; 0 takes the model's own.
        basis: PolyFormer's polynomials; ``own`` takes the model's own.
        depth: layers of a deep baseline, in place of ``num_layers``; 0 takes the model's own.
        normalise: norm after each layer of a deep baseline: ``layer``, ``batch`` or ``none``;
            ``own`` takes the model's own.
        conv: Dir-GNN's: ``gcn`` or ``sage``; ``own`` takes the model's own.
        direction: the edges of a node that Dir-GNN reads: ``both`` kinds, those that come ``in`` or
            those that go ``out``; ``own`` takes the model's own.
    """

    hops: int = 0
    alpha: float = 0.0
    heads: int = 0
    tokens: int = 0
    basis: str = "own"
    depth: int = 0
    normalise: str = "own"
    conv: str = "own"
    direction: str = "own"

    def __post_init__(self) -> None:
        check_choice("basis", self.basis, BASES)
        check_choice("normalise", self.normalise, LAYER_NORMS)
        check_choice("conv", self.conv, CONVOLUTIONS)
        check_choice("direction", self.direction, DIRECTIONS)
        for name in ("hops", "heads", "tokens", "depth"):
            _at_least(name, getattr(self, name), 0)
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"alpha must be between 0 and 1 (got {self.alpha:g})")


def check_relations(relations: Sequence[str]) -> None:
    """Refuse unknown relations, none at all, and one that is named twice."""
    for relation in relations:
        check_choice("a relation", relation, RELATIONS)
    if not relations or len(set(relations)) < len(relations):
        raise ConfigError(
            "relations must name at least one relation and none twice "
            f"(got {','.join(relations) or 'none'})"
        )


# far beyond what is of use; a file may ask for more than any memory has
_MOST = {
    "hidden_channels": 65_536,
    "num_layers": 1000,
    "head_layers": 100,
    "filter_order": 10_000,
    "hops": 1000,
    "heads": 1024,
    "tokens": 1_000_000,
    "depth": 1000,
}
_MOST_DROPPED = 0.99
_MOST_EXPANSION = 1000.0


def _at_least(name: str, value: int, least: int) -> None:
    most = _MOST.get(name, 2**63 - 1)
    if not least <= value <= most:
        bound = f"least {least}" if value < least else f"most {most}"
        raise ConfigError(f"{name} must be at {bound} (got {str(value)[:30]})")
