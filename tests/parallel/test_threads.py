"""Threads: the results don't depend on which thread computes them."""

import threading

import pytest
import torch

from herofilter import FastPatcher, HeroFilter, csbm, predict_logits
from herofilter.parallel.threads import one_thread, parallel_map
from herofilter.patchers import RelationSummary


def test_results_of_several_threads_are_in_order() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        meeting = threading.Barrier(3, timeout=30)

        def work(item: int) -> tuple[int, int, bool]:
            # all three must be at work at once, or the barrier breaks
            meeting.wait()
            return 2 * item, torch.get_num_threads(), torch.is_grad_enabled()

        with torch.no_grad(), one_thread(parallel=True):
            assert parallel_map(work, range(3)) == [(0, 1, False), (2, 1, False), (4, 1, False)]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_without_free_threads_the_caller_does_all() -> None:
    here = threading.get_ident()
    for context in (one_thread(), one_thread(False, parallel=True)):
        with context:
            assert parallel_map(lambda _: threading.get_ident(), range(4)) == [here] * 4


def test_a_nested_map_runs_in_its_tasks_thread() -> None:
    before = torch.get_num_threads()

    def work(item: int) -> list[bool]:
        # torch's number of threads may be set per thread
        torch.set_num_threads(2)
        me = threading.get_ident()
        with one_thread(parallel=True):
            return parallel_map(lambda _: threading.get_ident() == me, range(3))

    try:
        torch.set_num_threads(2)
        with one_thread(parallel=True):
            assert parallel_map(work, range(4)) == [[True] * 3] * 4
    finally:
        torch.set_num_threads(before)


def test_an_error_in_a_task_is_raised() -> None:
    with one_thread(parallel=True), pytest.raises(ZeroDivisionError):
        parallel_map(lambda item: 1 // item, [1, 0])


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
    # and they are those of the forward pass with gradients
    model.eval()
    torch.testing.assert_close(model(data).detach(), found[0])
