"""The compiled end of a mixer gives the logits of torch's layers, whatever the shapes."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from herofilter.nn.aggregation import Aggregation
from herofilter.nn.head import Head
from herofilter.nn.inference.folded import FoldedEnd, fold_end
from herofilter.nn.inference.mixer_kernel import CHUNK
from herofilter.nn.mixer import MixerBlock
from herofilter.nn.patch_batch import Part
from herofilter.parallel.threads import one_thread
from herofilter.patchers import Slot

# positions, channels, classes: widths that aren't multiples of 8, one token, one class, one of all
SHAPES = [(6, 32, 3), (11, 30, 5), (1, 7, 2), (5, 64, 1), (3, 9, 9), (1, 1, 1)]
NODES = (0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 5)


@torch.no_grad()
def make_layers(
    positions: int, channels: int, classes: int
) -> tuple[MixerBlock, Aggregation, Head, FoldedEnd]:
    generator = torch.Generator().manual_seed(0)
    block = MixerBlock(positions, channels).eval()
    aggregate = Aggregation("weighted", [Slot("all", 0, positions)], channels)
    head = Head(channels, channels, classes).eval()
    for parameter in itertools.chain(block.parameters(), aggregate.parameters()):
        # layers that start at zero would hide a wrong formula
        parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
    folded = fold_end(nn.ModuleList([block]), aggregate, head)
    assert folded is not None
    return block, aggregate, head, folded


@torch.no_grad()
def run(positions: int, channels: int, classes: int, nodes: int) -> tuple[Tensor, Tensor]:
    """Return the logits of random tokens by the compiled loop and by torch's layers."""
    torch.manual_seed(0)
    block, aggregate, head, folded = make_layers(positions, channels, classes)
    tokens = torch.randn(positions, nodes, channels)
    return folded(tokens), head(aggregate(block(tokens.clone())))


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_equals_the_layers(shape: tuple[int, int, int], nodes: int) -> None:
    found, expected = run(*shape, nodes)
    assert found.shape == (nodes, shape[2])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_tokens_are_gathered_scaled_and_labelled() -> None:
    block, aggregate, head, folded = make_layers(6, 20, 3)
    table, labels = torch.randn(50, 20), nn.Embedding(4, 20)
    index, scale = torch.randint(50, (37, 4)), torch.rand(37, 4)
    shown, summary = torch.randint(4, (37, 4)), torch.randn(2, 37, 20)
    members = (table[index] + labels(shown)) * scale.unsqueeze(-1)
    # [b, p, h] -> [p, b, h]
    tokens = torch.cat([members.transpose(0, 1), summary])
    expected = head(aggregate(block(tokens)))
    found = folded.read(table, Part(index, scale, shown, summary), labels)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("nodes", NODES)
def test_threads_change_no_bit(nodes: int) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected, _ = run(11, 30, 5, nodes)
        torch.set_num_threads(3)
        with one_thread(parallel=True):
            found, _ = run(11, 30, 5, nodes)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found, expected)


def jit_cases() -> dict[str, np.ndarray]:
    return {str(shape): run(*shape, 37)[0].numpy() for shape in SHAPES}


def test_without_jit(without_jit: dict[str, np.ndarray]) -> None:
    compiled = jit_cases()
    assert len(compiled) == len(SHAPES)
    for name, expected in compiled.items():
        np.testing.assert_allclose(without_jit[name], expected, rtol=1e-5, atol=1e-5, err_msg=name)
