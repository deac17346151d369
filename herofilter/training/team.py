"""Several processes that train one model together, each on a part of every batch.

A batch is cut into a fixed number of shares, whoever computes them. A share has random numbers of
its own, and the gradients of shares are added up in double precision. So the weights don't depend
on how many processes there are.
"""

import hashlib
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from herofilter.errors import ConfigError
from herofilter.nn.classifier import Batch, NodeClassifier
from herofilter.nn.dropout import set_generator
from herofilter.settings import TrainConfig
from herofilter.training.prefetch import prefetch_batches
from herofilter.training.row_adam import RowAdam
from herofilter.training.steps import Steps

SHARES = 8
Value = TypeVar("Value")


class Team:
    """The processes of torch.distributed's group, which must be there; this is one of them.

    Args:
        shares: of each batch; a multiple of the number of processes.
    """

    def __init__(self, shares: int = SHARES) -> None:
        self.rank, self.size, self.shares = dist.get_rank(), dist.get_world_size(), shares
        if shares < 1 or shares % self.size:
            raise ConfigError(
                f"shares must be a multiple of the {self.size} workers, each of which takes as "
                f"many of a batch (got {shares}); give --shares {self.size * 4}"
            )

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes files."""
        return self.rank == 0

    def tell(self, value: Value) -> Value:
        """Return the first process's value."""
        held = [value]
        dist.broadcast_object_list(held)
        return held[0]

    def own(self, nodes: Tensor) -> list[Tensor]:
        """Return the shares of some nodes that this process computes."""
        return list(torch.tensor_split(nodes, self.shares)[self.rank :: self.size])

    def join(self, nodes: Tensor, parts: Sequence[Tensor]) -> Tensor:
        """Return rows of all ``nodes`` from the rows of each process's shares."""
        longest, width = -(-nodes.numel() // self.shares), parts[0].size(1)
        padded = parts[0].new_zeros(len(parts), longest, width)
        for row, part in zip(padded, parts, strict=True):
            row[: part.size(0)] = part
        found = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(found, padded)
        # share s is the (s // size)-th of process s % size
        shares = torch.stack(found, dim=1).flatten(0, 1)
        lengths = [part.numel() for part in torch.tensor_split(nodes, self.shares)]
        return torch.cat([rows[:count] for rows, count in zip(shares, lengths, strict=True)])


class TeamSteps(Steps):
    """The steps of one process of a team; all of them move their weights alike.

    Args:
        team: the processes.
        model, data, config, train_nodes, optimizers: as for :class:`Steps`.
    """

    def __init__(
        self,
        team: Team,
        model: NodeClassifier,
        data: Data,
        config: TrainConfig,
        train_nodes: Tensor,
        optimizers: Sequence[torch.optim.Optimizer],
    ) -> None:
        super().__init__(model, data, config, train_nodes, optimizers)
        self.team = team
        kinds: dict[bool, list[Tensor]] = {True: [], False: []}
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                kinds[isinstance(optimizer, RowAdam)] += group["params"]
        self.tables, self.weights = kinds[True], kinds[False]

    def epoch(
        self, number: int, first: int, parts: Sequence[Tensor]
    ) -> Generator[float, None, None]:
        dropout = torch.Generator()
        set_generator(self.model, dropout)
        own = [[share for share in self.team.own(nodes) if share.numel()] for nodes in parts]
        flat = [share for shares in own for share in shares]
        with closing(prefetch_batches(self.model, self.data, flat)) as batches:
            for step, (nodes, shares) in enumerate(zip(parts, own, strict=True), first):
                sums = self._no_gradient()
                for position in range(len(shares)):
                    share = self.team.rank + position * self.team.size
                    dropout.manual_seed(_seed(self.config.seed, number, step, share))
                    self._add_gradient(sums, next(batches), nodes)
                yield self._move(sums)

    def logits(self, nodes: Tensor) -> Tensor:
        parts = [super(TeamSteps, self).logits(share) for share in self.team.own(nodes)]
        return self.team.join(nodes, parts)

    def _no_gradient(self) -> list[Tensor]:
        """Return zeros: one tensor for the loss and all weights, and one for each table."""
        count = 1 + sum(weight.numel() for weight in self.weights)
        return [torch.zeros(count, dtype=torch.float64), *map(_no_rows, self.tables)]

    def _add_gradient(self, sums: list[Tensor], batch: Batch, nodes: Tensor) -> None:
        """Add the gradient of a share's part of the mean loss over all ``nodes`` of the batch."""
        logits, y = self.model.classify(batch), self.data.y
        weight = self.class_weights(logits.size(1))
        smoothing = self.config.label_smoothing
        loss = cross_entropy(
            logits, y[batch.nodes], weight=weight, label_smoothing=smoothing, reduction="sum"
        )
        loss = loss / (nodes.numel() if weight is None else weight[y[nodes]].sum())
        loss.backward()  # type: ignore[no-untyped-call]
        found = [w.new_zeros(w.shape) if w.grad is None else w.grad for w in self.weights]
        parts = [loss.detach().view(1) * nodes.numel(), *(part.reshape(-1) for part in found)]
        sums[0] += torch.cat(parts).double()
        for position, table in enumerate(self.tables, 1):
            if table.grad is not None:
                sums[position] = sums[position] + table.grad.double()
        self._clear()

    def _move(self, sums: list[Tensor]) -> float:
        """Add up the gradients of all processes, make the step and return the sum of losses."""
        for position, total in enumerate(sums):
            sums[position] = total.coalesce() if total.is_sparse else total
            dist.all_reduce(sums[position])
        sizes = [weight.numel() for weight in self.weights]
        for weight, total in zip(self.weights, torch.split(sums[0][1:], sizes), strict=True):
            weight.grad = total.float().view_as(weight)
        for table, total in zip(self.tables, sums[1:], strict=True):
            table.grad = total.coalesce().float()
        for optimizer in self.optimizers:
            optimizer.step()
        self._clear()
        return float(sums[0][0])

    def _clear(self) -> None:
        for parameter in (*self.weights, *self.tables):
            parameter.grad = None


def _no_rows(table: Tensor) -> Tensor:
    rows, values = torch.zeros(1, 0, dtype=torch.int64), table.new_zeros(0, table.size(1)).double()
    return torch.sparse_coo_tensor(rows, values, table.shape, check_invariants=False)


def _seed(*numbers: int) -> int:
    text = ";".join(map(str, numbers)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")
