"""The HeroFilter model: from patches to raw logits."""

from collections.abc import Iterator
from copy import copy
from functools import partial

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.data.placement import move
from herofilter.errors import GraphError
from herofilter.nn.aggregation import Aggregation
from herofilter.nn.classifier import Batch, NodeClassifier, select
from herofilter.nn.gather import gather_chunks
from herofilter.nn.graph_defaults import dropout_rates
from herofilter.nn.head import Head
from herofilter.nn.inference.folded import fold_end
from herofilter.nn.inference.hidden_table import Shared, fill_table, worth_sharing
from herofilter.nn.label_shares import LabelShares
from herofilter.nn.labels import LabelTokens
from herofilter.nn.mixer import MixerBlock
from herofilter.nn.patch_batch import Part, PatchBatch, check_training, cut_parts, largest_batch
from herofilter.nn.score_scale import ScoreScale
from herofilter.nn.stem import Stem
from herofilter.nn.tokens import fill_tokens, join_tokens
from herofilter.parallel.threads import parallel_map
from herofilter.patchers import LearnedPatcher, Patches, RelationSummary, Slot
from herofilter.patchers.placed import PlacedPatches
from herofilter.settings import ModelConfig

_CHUNK_BYTES = 2**21


class HeroFilter(NodeClassifier):
    r"""HeroFilter: an MLP-Mixer over each node's patch of spectrally relevant nodes.

    .. math::
        \mathbf{P}_v = \mathbf{s}_v \odot \mathbf{H}[\mathrm{top}\text{-}p(\mathbf{R}_v)],
        \qquad \mathbf{y}_v = \mathrm{Head}(\mathrm{Aggregate}(\mathrm{Mixer}(\mathbf{P}_v)))

    Tokens are scaled by their normalised scores, so that a learned filter gets gradients; the
    token of the node itself, in slot 0, is not scaled. With a learned filter, one more token per
    filter holds its full response :math:`\mathbf{R}\mathbf{H}`. The model itself doesn't read the
    edges; only the patcher does.

    Args:
        in_channels: width of the features.
        out_channels: number of classes.
        patcher: a :class:`LearnedPatcher`, which learns, or fixed :class:`Patches`.
        config: the mixer's settings; the recommended ones by default.
        num_embeddings: learned vectors for the nodes of a graph without features; 0 for none.
        relations: full responses of fixed relations, one more token each; not needed with a
            :class:`LearnedPatcher`, which has those of its filters.
        shares: class shares of known labels, one more token per relation; not by default.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; nodes: ``[b]``
        - output: ``[b, out_channels]``

    Example:
        >>> from herofilter.data import csbm
        >>> from herofilter.patchers import FastPatcher
        >>> data = csbm(num_nodes=100, num_classes=3)
        >>> model = HeroFilter(32, 3, patcher=FastPatcher(patch_size=8)(data))
        >>> model(data).shape
        torch.Size([100, 3])
    """

    by_rows = True
    in_parallel = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        patcher: LearnedPatcher | Patches,
        config: ModelConfig | None = None,
        num_embeddings: int = 0,
        relations: RelationSummary | None = None,
        shares: LabelShares | None = None,
    ) -> None:
        super().__init__()
        if isinstance(patcher, Patches) and patcher.num_rows != patcher.num_nodes:
            raise GraphError(
                f"patches must have a row for each of the {patcher.num_nodes} nodes "
                f"(got {patcher.num_rows} rows); make them without naming nodes"
            )
        config = config or ModelConfig()
        self.config = config
        self.patcher = patcher
        self._placed: PlacedPatches | None = None
        self.score_scale = ScoreScale(config.score_norm)
        width = config.hidden_channels
        dropout, input_dropout, drop_path = dropout_rates(config)
        self.stem = None
        if config.stem or num_embeddings:
            self.stem = Stem(in_channels, width, input_dropout, dropout, num_embeddings)
        channels = width if self.stem is not None else in_channels
        self.in_channels, self.token_channels = in_channels, channels
        slots = list(patcher.slots)
        self.relations = relations
        self.shares = shares
        counts = {
            "summary": 0 if self.summariser is None else self.summariser.num_summaries,
            "labels": 0 if shares is None else shares.num_tokens,
        }
        for name, count in counts.items():
            first = slots[-1].stop
            slots += [Slot(f"{name}-{i}", first + i, first + i + 1) for i in range(count)]
        num_tokens = slots[-1].stop
        self.num_summaries = sum(counts.values())
        self.blocks = nn.ModuleList(
            MixerBlock(
                num_tokens,
                channels,
                expansion=config.expansion,
                feature_expansion=config.feature_expansion,
                dropout=dropout,
                drop_path=drop_path,
                norm=config.norm,
                residual=config.residual,
                patch_mixing=config.patch_mixing,
                feature_mixing=config.feature_mixing,
            )
            for _ in range(config.num_layers)
        )
        self.labels = None
        if config.label_tokens:
            self.labels = LabelTokens(patcher.num_nodes, out_channels, channels, config.label_mask)
        self.aggregate = Aggregation(config.aggregation, slots, channels)
        self.head = Head(
            self.aggregate.out_channels, width, out_channels, config.head_layers, dropout
        )
        # a chunk's tokens stay in the cache of one core through all blocks
        self.chunk_size = max(1, _CHUNK_BYTES // (4 * num_tokens * channels))

    def reset_parameters(self) -> None:
        if isinstance(self.patcher, LearnedPatcher):
            self.patcher.reset_parameters()
        if self.stem is not None:
            self.stem.reset_parameters()
        for block in self.blocks:
            if isinstance(block, MixerBlock):
                block.reset_parameters()
        if self.labels is not None:
            self.labels.reset_parameters()
        if self.shares is not None:
            self.shares.reset_parameters()
        self.aggregate.reset_parameters()
        self.head.reset_parameters()

    @property
    def summariser(self) -> LearnedPatcher | RelationSummary | None:
        """The module that computes the summary tokens, or None."""
        if not self.config.summary:
            return None
        return self.patcher if isinstance(self.patcher, LearnedPatcher) else self.relations

    def show_labels(self, labels: Tensor) -> None:
        if self.labels is not None:
            self.labels.show(labels)
        if self.shares is not None:
            self.shares.show(labels)

    def filter_parameters(self) -> list[nn.Parameter]:
        if isinstance(self.patcher, LearnedPatcher):
            return list(self.patcher.parameters())
        return []

    def refresh(self) -> None:
        if isinstance(self.patcher, LearnedPatcher):
            self.patcher.refresh()

    @property
    def refresh_seconds(self) -> float:
        return self.patcher.refresh_seconds if isinstance(self.patcher, LearnedPatcher) else 0.0

    def filter_snapshot(self) -> dict[str, list[float]]:
        return self.patcher.snapshot() if isinstance(self.patcher, LearnedPatcher) else {}

    def restore(self) -> None:
        if isinstance(self.patcher, LearnedPatcher):
            self.patcher.restore()

    def start_filter(self, labels: Tensor) -> None:
        if isinstance(self.patcher, LearnedPatcher):
            self.patcher.align(labels)

    def patches(self, nodes: Tensor | None = None) -> Patches:
        """Return the current patches of ``nodes``."""
        if isinstance(self.patcher, LearnedPatcher):
            patches: Patches = self.patcher(nodes)
            return patches
        if self._placed is None or self._placed.patches is not self.patcher:
            self._placed = PlacedPatches(self.patcher)
        return self._placed.rows(nodes, self.device)

    @property
    def prefetches(self) -> bool:
        """True unless a learned filter scores the patches anew at every step."""
        return not isinstance(self.patcher, LearnedPatcher) or self.patcher.frozen

    def gather(self, data: Data, nodes: Tensor | None) -> PatchBatch:
        """Return the patches of ``nodes`` and the features of all nodes in them."""
        self.check_same_graph(data)
        data, patches = self.scale_features(data), self.patches(nodes)
        # padding may have any index, since its score is zero
        index = patches.index.clamp(min=0)
        needed, shared = None, data.get("shared")
        # the user's graph may have an attribute of that name
        if isinstance(shared, Shared):
            return PatchBatch(data, nodes, patches, None, index, data.x, shared)
        if index.numel() < data.x.size(0) and self.summariser is None:
            needed, index = torch.unique(index, return_inverse=True)
        # features on disk are read into main memory
        x = move(select(data.x, needed), index.device)
        return PatchBatch(data, nodes, patches, needed, index, x)

    def precompute(self, data: Data, count: int) -> Data:
        """Return the graph with the hidden vectors of all nodes, if that saves time."""
        channels = self.token_channels
        width = channels * (1 + self.num_summaries)
        members = self.patcher.patch_size
        saves = self.stem is not None or self.num_summaries > 0
        if not (saves and worth_sharing(data.x, count, members, width)):
            return data
        n = int(data.x.size(0))
        hidden = fill_table(partial(self.hidden, data.x), n, channels, self.device)
        precomputed = copy(data)
        precomputed.shared = Shared(hidden, self.summaries(hidden))
        return precomputed

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        return self.classify(self.gather(data, nodes))

    def classify(self, batch: Batch) -> Tensor:
        """Return logits of a batch."""
        if torch.is_grad_enabled():
            return torch.cat([self.mix(tokens) for tokens in self._batch_chunks(batch)])
        hidden, part = self._hidden_and_part(batch)
        end = fold_end(self.blocks, self.aggregate, self.head)
        if end is not None and not end.before:
            return end.read(hidden, part, None if self.labels is None else self.labels.embedding)
        mix, parts = end or self.mix, cut_parts(part, self.chunk_size)
        return torch.cat(
            parallel_map(lambda part: mix(fill_tokens(hidden, part, self.labels)), parts)
        )

    def token_chunks(self, data: Data, nodes: Tensor | None = None) -> Iterator[Tensor]:
        """Yield the tokens of ``nodes``, some nodes at a time: ``[p', b, h]`` each.

        Positions of the patch come first, then one per summary.
        """
        yield from self._batch_chunks(self.gather(data, nodes))

    def _batch_chunks(self, batch: Batch) -> Iterator[Tensor]:
        hidden, part = self._hidden_and_part(batch)
        parts = cut_parts(part, self.chunk_size)
        if not torch.is_grad_enabled():
            yield from (fill_tokens(hidden, part, self.labels) for part in parts)
            return
        members = gather_chunks(hidden, [part.index for part in parts])
        for rows, part in zip(members, parts, strict=True):
            yield join_tokens(rows, part.scale, self.labels, part.labels, part.summary)

    def _hidden_and_part(self, batch: Batch) -> tuple[Tensor, Part]:
        """Return the hidden vectors of all needed nodes, and the other inputs of their tokens."""
        if not isinstance(batch, PatchBatch):
            batch = self.gather(batch.data, batch.nodes)
        patches = batch.patches
        if self.stem is None and torch.is_grad_enabled():
            check_training(patches.index.numel(), self.in_channels, len(self.blocks))
        hidden, summary = self._hidden_and_summary(batch)
        scale = self.score_scale(patches)
        shown = None if self.labels is None else self.labels.look_up(patches.index, patches.nodes)
        return hidden, Part(batch.index, scale, shown, summary)

    def _hidden_and_summary(self, batch: PatchBatch) -> tuple[Tensor, Tensor | None]:
        """Return the hidden vectors of all needed nodes, and the summaries of the batch's nodes."""
        summariser, shared, nodes = self.summariser, batch.shared, batch.nodes
        if shared is None:
            layer = None if self.stem is None else self.stem.as_layer(batch.x)
            if layer is not None and isinstance(summariser, RelationSummary):
                hidden, summary = summariser.summarise_layer(batch.x, *layer)
                summary = summary if nodes is None else summary.index_select(1, nodes)
                return hidden, self._with_shares(summary, nodes)
            hidden = self._hidden(batch.x, batch.needed)
            return hidden, self.summaries(hidden, nodes)
        if shared.summary is None or nodes is None:
            return shared.hidden, shared.summary
        return shared.hidden, shared.summary.index_select(1, nodes)

    def summaries(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor | None:
        """Return the tokens of ``nodes`` that are no patch members, if there are such.

        Shapes:
            - hidden: ``[n, h]``, of all nodes
            - output: ``[s, b, h]``
        """
        summariser = self.summariser
        found = None if summariser is None else summariser.summarise(hidden, nodes)
        return self._with_shares(found, nodes)

    def _with_shares(self, summary: Tensor | None, nodes: Tensor | None) -> Tensor | None:
        """Return the summaries and after them the class shares, of those that the model has."""
        if self.shares is None:
            return summary
        shares = self.shares(nodes)
        return shares if summary is None else torch.cat([summary, shares])

    def largest_batch(self, data: Data) -> int:
        """Return how many nodes fit into 512 MiB of features and tokens, or 256 MiB from disk."""
        return largest_batch(data.x, self.patcher.patch_size, self.token_channels)

    def hidden(self, x: Tensor, nodes: Tensor | None = None) -> Tensor:
        """Return the hidden vectors of ``nodes`` (all when None)."""
        return self._hidden(select(x, nodes), nodes)

    def _hidden(self, rows: Tensor, nodes: Tensor | None) -> Tensor:
        if self.stem is None:
            return rows.to_dense() if rows.layout == torch.sparse_csr else rows
        return self.stem.from_rows(rows, nodes)

    def mix(self, tokens: Tensor) -> Tensor:
        """Return the logits of tokens: ``[p', b, h]`` to ``[b, C]``."""
        for block in self.blocks:
            tokens = block(tokens)
        logits: Tensor = self.head(self.aggregate(tokens))
        return logits

    def check_same_graph(self, data: Data) -> None:
        """Raise a :class:`GraphError` unless ``data`` has as many nodes as the patches know."""
        if data.num_nodes != self.patcher.num_nodes:
            raise GraphError(
                f"the graph must be the one the patches were made for, with "
                f"{self.patcher.num_nodes} nodes (got {data.num_nodes}); make new patches for it"
            )
