"""Batches prefetched by another thread while the one before is in use."""

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.placement import on_device
from herofilter.nn.classifier import Batch, NodeClassifier


def prefetch_batches(
    model: NodeClassifier, data: Data, parts: Iterable[Tensor | None]
) -> Generator[Batch, None, None]:
    """Yield what ``model`` gathers for each part of the nodes, in order.

    If the model allows it, another thread gathers the next batch meanwhile. The batches are the
    same either way, and all random numbers come from the caller's thread in the same order.
    An error of the other thread is raised here. Close the generator to end the thread.
    """
    if model.prefetches:
        # here and now, in the same order as without prefetching
        parts = list(parts)
        if len(parts) > 1:
            yield from _in_thread(model, data, parts)
            return
    for nodes in parts:
        yield model.gather(data, nodes)


def logit_chunks(
    model: NodeClassifier, data: Data, nodes: Tensor | None, largest: int
) -> Generator[Tensor, None, None]:
    """Yield the logits of ``nodes`` in order, some nodes at a time, on the CPU without gradients.

    Args:
        model: any classifier; it is put into evaluation mode.
        data: the graph, prepared for it and where it is.
        nodes: ``[b]``, or None for all, which spares picking them out where they fit at once.
        largest: so many nodes at once at most; a model that needs less memory says so itself.
    """
    # going through all modules to change nothing takes a tenth of a millisecond
    if any(module.training for module in model.modules()):
        model.eval()
    data = on_device(data, model.device)
    count = int(data.num_nodes or 0) if nodes is None else nodes.numel()
    size = max(count, 1) if model.full_batch else min(largest, model.largest_batch(data))
    if count > size:
        nodes = torch.arange(count) if nodes is None else nodes
        with torch.no_grad():
            data = model.precompute(data, count)
    parts = [None] if nodes is None else torch.split(nodes.to(model.device), size)
    with closing(prefetch_batches(model, data, parts)) as batches:
        while True:
            # not around the yield: the caller's gradient mode stays as it is
            with torch.no_grad():
                batch = next(batches, None)
                if batch is None:
                    return
                logits = model.classify(batch)
                # its features are freed before the next ones are read
                del batch
            yield logits.cpu()


def _in_thread(
    model: NodeClassifier, data: Data, parts: list[Tensor | None]
) -> Generator[Batch, None, None]:
    reader = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
    try:
        coming = reader.submit(model.gather, data, parts[0])
        for nodes in parts[1:]:
            batch = coming.result()
            # never more than two batches: the one in use and the one that is read
            coming = reader.submit(model.gather, data, nodes)
            yield batch
            del batch
        yield coming.result()
    finally:
        reader.shutdown(wait=True, cancel_futures=True)
