"""Threads: pieces of work give the same whoever does them."""

import threading

import pytest
import torch

from herofilter import FastPatcher, HeroFilter, csbm, predict_logits
from herofilter.parallel.threads import one_thread, parallel_map
from herofilter.patchers import RelationSummary


def test_pieces_come_back_in_order_from_several_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        meeting = threading.Barrier(3, timeout=30)

        def work(number: int) -> tuple[int, int, bool]:
            # all three must be at work at once, or the barrier breaks
            meeting.wait()
            return 2 * number, torch.get_num_threads(), torch.is_grad_enabled()

        with torch.no_grad(), one_thread(pieces=True):
            assert parallel_map(work, range(3)) == [(0, 1, False), (2, 1, False), (4, 1, False)]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_without_room_for_pieces_there_is_one_thread() -> None:
    here = threading.get_ident()
    for context in (one_thread(), one_thread(False, pieces=True)):
        with context:
            assert parallel_map(lambda _: threading.get_ident(), range(4)) == [here] * 4


def test_a_piece_does_its_own_pieces_by_itself() -> None:
    before = torch.get_num_threads()

    def work(number: int) -> list[bool]:
        # a thread may have a setting of its own
        torch.set_num_threads(2)
        me = threading.get_ident()
        with one_thread(pieces=True):
            return parallel_map(lambda _: threading.get_ident() == me, range(3))

    try:
        torch.set_num_threads(2)
        with one_thread(pieces=True):
            assert parallel_map(work, range(4)) == [[True] * 3] * 4
    finally:
        torch.set_num_threads(before)


def test_an_error_in_a_piece_is_raised() -> None:
    with one_thread(pieces=True), pytest.raises(ZeroDivisionError):
        parallel_map(lambda number: 1 // number, [1, 0])


def test_logits_do_not_depend_on_the_number_of_threads() -> None:
    data = csbm(num_nodes=300, num_classes=3, seed=1)
    patcher = FastPatcher(patch_size=9, relations=("out", "coreference"))
    torch.manual_seed(0)
    summary = RelationSummary(data, patcher)
    model = HeroFilter(data.num_features, 3, patcher(data), relations=summary)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    model.chunk_size = 32
    before, found = torch.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            found.append(predict_logits(model, data))
    finally:
        torch.set_num_threads(before)
    assert found[0].equal(found[1])
    assert found[0].equal(found[2])
    # and they are those of the way that keeps gradients
    model.eval()
    torch.testing.assert_close(model(data).detach(), found[0])
