"""The optimisers of a model: which weights each updates, and at which rate."""

import torch
from torch import nn

from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.graph_defaults import STRONG
from herofilter.settings import TrainConfig
from herofilter.training.row_adam import RowAdam


def make_optimizers(
    model: NodeClassifier, config: TrainConfig, tables: list[nn.Parameter] | None = None
) -> list[torch.optim.Optimizer]:
    """Return Adam for the weights of ``model``, and :class:`RowAdam` for ``tables``, if any.

    Neither filter weights nor learned vectors decay; filters may have a rate of their own.

    Args:
        model: what is trained.
        config: the rates.
        tables: learned vectors of nodes of which a step reads some rows only.
    """
    tables = tables or []
    apart = {id(table) for table in tables}
    # train has settled it; a caller without a graph gets the one for few training nodes
    decay = STRONG.weight_decay if config.weight_decay is None else config.weight_decay
    groups = [
        {"params": model.other_parameters(), "weight_decay": decay},
        {
            "params": [entry for entry in model.embedding_parameters() if id(entry) not in apart],
            "weight_decay": 0.0,
        },
    ]
    if config.learn_filter:
        filters = model.filter_parameters()
        groups.append({"params": filters, "weight_decay": 0.0, "lr": config.filter_lr or config.lr})
    kept = [group for group in groups if group["params"]]
    optimizers: list[torch.optim.Optimizer] = []
    if kept:
        # one kernel for all weights, where every version of torch has it
        fused = True if model.device.type in ("cpu", "cuda") else None
        optimizers.append(torch.optim.Adam(kept, lr=config.lr, fused=fused))
    return [*optimizers, RowAdam(tables, lr=config.lr)] if tables else optimizers
