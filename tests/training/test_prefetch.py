import threading
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data import csbm, select_split
from herofilter.nn import HeroFilter
from herofilter.nn.classifier import Batch
from herofilter.nn.inference import hidden_table as shared
from herofilter.patchers import FastPatcher, RelationSummary
from herofilter.settings import ModelConfig, TrainConfig
from herofilter.training import predict_logits, seeded, train
from herofilter.training.prefetch import logit_chunks, prefetch_batches
from tests.training.graphs import copies, hero, linear, one_split

BATCHES = TrainConfig(epochs=4, batch_size=30)


def graph() -> Data:
    return select_split(csbm(num_nodes=300, num_classes=3, average_degree=6, seed=1), 0)


def fast(data: Data, **settings: object) -> HeroFilter:
    with seeded(0):
        return HeroFilter(
            32,
            3,
            FastPatcher(patch_size=4)(data),
            ModelConfig(hidden_channels=8, summary=False, **settings),
        )


def readers() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("prefetch")]


@pytest.mark.parametrize("settings", [{}, {"label_tokens": True}, {"stem": False}])
def test_the_numbers_are_the_same_to_the_bit(
    settings: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = graph()
    model = fast(data, **settings)
    result = train(model, data, BATCHES)
    monkeypatch.setattr(HeroFilter, "prefetches", False)
    other = fast(data, **settings)
    expected = train(other, data, BATCHES)
    assert result.history == expected.history
    after, before = copies(model), copies(other)
    assert all(torch.equal(after[key], before[key]) for key in before)


def test_another_thread_reads_and_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    data, seen = graph(), set()
    gather = HeroFilter.gather

    def watched(self: HeroFilter, data: Data, nodes: Tensor | None) -> Batch:
        seen.add(threading.current_thread().name)
        return gather(self, data, nodes)

    monkeypatch.setattr(HeroFilter, "gather", watched)
    train(fast(data), data, BATCHES)
    assert "prefetch_0" in seen
    assert readers() == []


def test_a_learned_filter_and_a_single_batch_need_no_thread() -> None:
    data = one_split()
    model = hero(data)
    assert not model.prefetches
    for batches in (
        prefetch_batches(model, data, [torch.arange(4), torch.arange(4)]),
        prefetch_batches(fast(graph()), graph(), [torch.arange(4)]),
    ):
        next(batches)
        assert readers() == []


def test_batches_come_in_order_and_one_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    model, parts, asked = fast(data), list(torch.arange(50).split(10)), []
    gather = HeroFilter.gather

    def noted(self: HeroFilter, data: Data, nodes: Tensor) -> Batch:
        asked.append(int(nodes[0]))
        return gather(self, data, nodes)

    monkeypatch.setattr(HeroFilter, "gather", noted)
    for number, batch in enumerate(prefetch_batches(model, data, parts)):
        assert torch.equal(batch.nodes, parts[number])
        assert len(asked) <= number + 2
    assert asked == [0, 10, 20, 30, 40]


def test_an_error_of_the_thread_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    model = fast(data)
    gather = HeroFilter.gather

    def broken(self: HeroFilter, data: Data, nodes: Tensor) -> Batch:
        if threading.current_thread().name.startswith("prefetch") and 7 in nodes:
            raise OSError("the disk is gone")
        return gather(self, data, nodes)

    monkeypatch.setattr(HeroFilter, "gather", broken)
    with pytest.raises(OSError, match="the disk is gone"):
        list(prefetch_batches(model, data, torch.arange(50).split(10)))
    with pytest.raises(OSError, match="the disk is gone"):
        for _ in logit_chunks(model, data, torch.arange(50), 10):
            pass
    assert readers() == []


def test_ctrl_c_in_the_middle_of_an_epoch_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    model, steps = fast(data), 0
    classify = HeroFilter.classify

    def interrupted(self: HeroFilter, batch: Batch) -> Tensor:
        nonlocal steps
        steps += self.training
        if self.training and steps == 7:
            raise KeyboardInterrupt
        return classify(self, batch)

    monkeypatch.setattr(HeroFilter, "classify", interrupted)
    result = train(model, data, BATCHES)
    assert (result.interrupted, len(result.history)) == (True, 1)
    assert readers() == []
    # without a finished epoch there is nothing to keep
    steps = 6
    with pytest.raises(KeyboardInterrupt):
        train(model, data, BATCHES)
    assert readers() == []


def test_random_numbers_are_drawn_before_anything_is_read() -> None:
    data = graph()
    drawn = []

    def parts() -> Iterator[Tensor]:
        for nodes in torch.arange(40).split(10):
            drawn.append(threading.current_thread().name)
            yield nodes

    batches = prefetch_batches(fast(data), data, parts())
    next(batches)
    batches.close()
    assert drawn == ["MainThread"] * 4


def test_chunks_of_logits_are_the_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    model = fast(data).eval()
    whole = predict_logits(model, data)
    parts = list(logit_chunks(model, data, torch.arange(300), 70))
    assert [len(part) for part in parts] == [70, 70, 70, 70, 20]
    assert not parts[0].requires_grad
    torch.testing.assert_close(torch.cat(parts), whole)


def test_the_caller_keeps_his_mode_between_chunks() -> None:
    data = graph()
    for _ in logit_chunks(fast(data), data, torch.arange(300), 100):
        assert torch.is_grad_enabled()


def test_a_model_without_gather_reads_nothing() -> None:
    data = one_split()
    model = linear()
    batch = model.gather(data, torch.arange(3))
    assert type(batch) is Batch
    assert torch.equal(model.classify(batch), model(data, torch.arange(3)))
    assert not model.prefetches


@pytest.mark.parametrize("case", ["plain", "labels", "summary", "vectors"])
def test_batches_share_the_hidden_vectors(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    patcher = FastPatcher(patch_size=4)
    if case == "vectors":
        data.x = torch.zeros(300, 0)
    with seeded(0):
        model = HeroFilter(
            data.x.size(1),
            3,
            patcher(data),
            ModelConfig(hidden_channels=40, label_tokens=case == "labels"),
            num_embeddings=300 if case == "vectors" else 0,
            relations=RelationSummary(data, patcher) if case == "summary" else None,
        ).eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    model.show_labels(torch.where(data.train_mask, data.y, -1))
    seen, hidden = [], HeroFilter.hidden

    def watched(self: HeroFilter, x: Tensor, nodes: Tensor | None = None) -> Tensor:
        seen.append(nodes)
        return hidden(self, x, nodes)

    monkeypatch.setattr(HeroFilter, "hidden", watched)
    nodes = torch.arange(299, -1, -1)
    whole = torch.cat(list(logit_chunks(model, data, nodes, 300)))
    assert seen == []
    monkeypatch.setattr(shared, "_ROWS", 128)
    parts = torch.cat(list(logit_chunks(model, data, nodes, 70)))
    assert torch.equal(torch.cat(seen), torch.arange(300))
    torch.testing.assert_close(parts, whole)
    assert "shared" not in data
    # few nodes touch few others: nothing is computed for all
    few = torch.cat(list(logit_chunks(model, data, nodes[:40], 20)))
    assert len(seen) == 3
    torch.testing.assert_close(few, whole[:40])


def test_what_is_shared_is_not_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    assert fast(data).precompute(data, 300) is not data
    assert fast(data, stem=False).precompute(data, 300) is data
    monkeypatch.setattr(shared, "_SHARED_BYTES", 4 * 300 * 8 - 1)
    assert fast(data).precompute(data, 300) is data


def test_a_graph_may_have_an_entry_called_shared() -> None:
    data = graph()
    model = fast(data).eval()
    with torch.no_grad():
        expected = model(data)
        data.shared = torch.zeros(300)
        assert torch.equal(model(data), expected)
