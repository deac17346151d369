"""The gradient steps of an epoch, and logits of many nodes: by this process alone, or by a team."""

from collections.abc import Generator, Sequence
from contextlib import closing

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from herofilter.nn.classifier import Batch, NodeClassifier
from herofilter.parallel.threads import one_thread
from herofilter.settings import TrainConfig
from herofilter.training.metrics import class_weights
from herofilter.training.prefetch import logit_chunks, prefetch_batches

EVAL_BATCH = 65536


class Steps:
    """Steps of a model on a graph by this process alone.

    Args:
        model: what is trained.
        data: the graph, as the model reads it.
        config: smoothing and weights of the loss.
        train_nodes: the training nodes.
        optimizers: what moves the weights.
    """

    def __init__(
        self,
        model: NodeClassifier,
        data: Data,
        config: TrainConfig,
        train_nodes: Tensor,
        optimizers: Sequence[torch.optim.Optimizer],
    ) -> None:
        self.model, self.data, self.config = model, data, config
        self.train_nodes, self.optimizers = train_nodes, optimizers

    def epoch(
        self, number: int, first: int, parts: Sequence[Tensor]
    ) -> Generator[float, None, None]:
        """Make a step for each part, and yield the sum of its losses.

        Args:
            number: of the epoch.
            first: of the first step, counted within the epoch.
            parts: the nodes of each step.
        """
        with closing(prefetch_batches(self.model, self.data, parts)) as batches:
            for batch, nodes in zip(batches, parts, strict=True):
                yield self._step(batch) * nodes.numel()

    def logits(self, nodes: Tensor) -> Tensor:
        """Return logits of ``nodes`` without gradients."""
        with one_thread(self.model.in_parallel, parallel=True):
            return torch.cat(list(logit_chunks(self.model, self.data, nodes, EVAL_BATCH)))

    def _step(self, batch: Batch) -> float:
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        logits = self.model.classify(batch)
        loss = cross_entropy(
            logits,
            self.data.y[batch.nodes],
            weight=self.class_weights(logits.size(1)),
            label_smoothing=self.config.label_smoothing,
        )
        auxiliary = self.model.auxiliary_loss()
        if auxiliary is not None:
            loss = loss + auxiliary
        # the most frequent class has no weights
        if self.optimizers:
            loss.backward()  # type: ignore[no-untyped-call]
        for optimizer in self.optimizers:
            optimizer.step()
        return float(loss.detach())

    def class_weights(self, num_classes: int) -> Tensor | None:
        """Return the weight of each class in the loss, if they are asked for."""
        if not self.config.class_weights:
            return None
        return class_weights(self.data.y[self.train_nodes], num_classes)
