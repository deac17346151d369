import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch_geometric.data import Data

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.data import csbm, load_dataset, select_split
from herofilter.errors import ConfigError, GraphError, HeroFilterError, OutOfMemoryError
from herofilter.files import load_tensors
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.training import Score, predict_logits, prepare, recipe, train_splits
from herofilter.training.artifacts.model_folder import WEIGHTS
from herofilter.training.predictor import Predictor
from herofilter.training.recipe import train_split
from herofilter.training.search import portfolio_run
from herofilter.training.search.auto import train_auto
from herofilter.training.search.ensemble import select_ensemble
from herofilter.training.search.portfolio import Member, portfolio
from herofilter.training.split_metrics import spread
from tests.awkward import AWKWARD
from tests.events import epochs, steps, stop_in
from tests.training.graphs import SMALL, graph

QUICK = SMALL.replace(epochs=4)


def member(name: str, model: str = "mlp", **settings: Any) -> Member:
    return Member(name, model, QUICK.replace(**settings), "a test")


def trio() -> list[Member]:
    return [member("flat"), member("wide", hidden_channels=16), member("smooth", "gcn")]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(entry) for key, entry in value.items() if key != "seconds"}
    return [without_times(entry) for entry in value] if isinstance(value, list) else value


def failing(monkeypatch: pytest.MonkeyPatch, errors: dict[str, HeroFilterError]) -> None:
    """Let members of some models fail when they are built."""

    def build(prepared: Data, model: str, *rest: Any, **options: Any) -> Any:
        if model in errors:
            raise errors[model]
        return train_split(prepared, model, *rest, **options)

    monkeypatch.setattr(recipe, "train_split", build)


def test_the_summary_has_the_keys_of_every_run_and_its_own() -> None:
    data = csbm(num_nodes=120, num_classes=3, heterophily=0.2, directed=True, num_splits=2)
    summary = train_auto(data, QUICK, (0, 1), graph="small")
    usual = train_splits(data, "mlp", QUICK, (0, 1), graph="small")
    assert set(summary) == {*usual, "members", "picked", "skipped"}
    assert (summary["graph"], summary["model"]) == ("small", "auto")
    assert (summary["title"], usual["title"]) == ("auto", "mlp")
    titles = {entry["name"]: entry["title"] for entry in summary["members"]}
    assert titles["features"] == "mlp"
    assert titles["summaries"] == "summary-mlp"
    assert titles["heterophilic"] == "fast-herofilter"
    assert summary["variant"] == data.variant
    assert Config.from_dict(summary["config"]) == resolve_defaults(data, QUICK)
    assert summary["splits"] == [0, 1]
    assert not summary["interrupted"]
    assert summary["skipped"] == {}
    members = portfolio(data, resolve_defaults(data, QUICK))
    assert [entry["name"] for entry in summary["members"]] == [entry.name for entry in members]
    for entry, expected in zip(summary["members"], members, strict=True):
        assert Config.from_dict(entry["config"]) == expected.config
        assert (entry["model"], entry["why"]) == (expected.model, expected.why)
        assert list(entry["val_accuracy"]) == ["0", "1"]
        assert entry["short"] == []
        assert entry["seconds"] > 0
    assert summary["seconds"] >= sum(entry["seconds"] for entry in summary["members"])
    assert json.loads(json.dumps(summary)) == summary


def test_the_pick_is_the_best_on_validation_and_scored_like_any_run() -> None:
    data, members = graph(), trio()
    summary = train_auto(data, QUICK, (0, 2), members=members)
    for key in ("test_accuracy", "val_accuracy"):
        assert summary[key] == spread(summary[key]["values"])
    for place, split in enumerate((0, 2)):
        results = {
            entry.name: train_split(
                prepare(data, entry.config, entry.model), entry.model, entry.config, split
            )[1]
            for entry in members
        }
        best = max(results, key=lambda name: (results[name].val.accuracy, -results[name].val.loss))
        assert summary["picked"][str(split)] == best
        assert summary["test_accuracy"]["values"][place] == results[best].test.accuracy
        assert summary["val_accuracy"]["values"][place] == results[best].val.accuracy
        for entry in summary["members"]:
            value = entry["val_accuracy"][str(split)]
            assert value == results[entry["name"]].val.accuracy


def test_ties_go_to_the_lower_loss_then_to_the_earlier_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    equal = [member("first"), member("second")]
    assert train_auto(graph(), QUICK, members=equal)["picked"] == {"0": "first"}
    losses = {"worse": 2.0, "better": 1.0, "again": 1.0}
    heard: list[str] = []

    def same_accuracy(prepared: Data, model: str, *rest: Any, **options: Any) -> Any:
        network, result = train_split(prepared, model, *rest, **options)
        name = list(losses)[len(heard)]
        heard.append(name)
        object.__setattr__(result, "val", Score(0.5, losses[name]))
        return network, result

    monkeypatch.setattr(recipe, "train_split", same_accuracy)
    members = [member(name) for name in losses]
    assert train_auto(graph(), QUICK, members=members)["picked"] == {"0": "better"}


def test_test_labels_change_nothing_but_the_test_accuracy() -> None:
    data = csbm(num_nodes=120, num_classes=3, heterophily=0.2, directed=True, num_splits=1)
    other = data.clone()
    nodes = data.test_mask.any(1).nonzero().view(-1)
    other.y[nodes] = (data.y[nodes] + 1) % 3
    one, two = (train_auto(each, QUICK, ensemble=True) for each in (data, other))
    assert len(one["members"]) == 8
    assert one["picked"] == two["picked"]
    assert one["val_accuracy"] == two["val_accuracy"]
    assert without_times(one["members"]) == without_times(two["members"])
    for key in ("members", "val_accuracy"):
        assert one["ensemble"][key] == two["ensemble"][key]
    for run, changed in ((one, two), (one["ensemble"], two["ensemble"])):
        assert run["test_accuracy"] != changed["test_accuracy"]


def test_members_are_trained_without_test_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def watched(*arguments: Any, **options: Any) -> Any:
        network, result = train_split(*arguments, **options)
        heard.append(result.test.accuracy)
        return network, result

    monkeypatch.setattr(recipe, "train_split", watched)
    train_auto(graph(), QUICK, members=trio())
    assert len(heard) == 3
    assert all(math.isnan(value) for value in heard)


def test_the_same_seed_gives_the_same_bits(tmp_path: Path) -> None:
    data = csbm(num_nodes=120, num_classes=3, heterophily=0.6, num_splits=1)
    runs = []
    for name in ("one", "two"):
        torch.rand(3)
        summary = train_auto(data, QUICK, out=tmp_path / name, ensemble=True)
        runs.append((without_times(summary), load_tensors(tmp_path / name / "split-0" / WEIGHTS)))
    assert runs[0][0] == runs[1][0]
    one, other = runs[0][1][0], runs[1][1][0]
    assert one.keys() == other.keys()
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_the_ensemble_stands_apart() -> None:
    data = graph()
    alone = train_auto(data, QUICK, (0, 1), members=trio())
    both = train_auto(data, QUICK, (0, 1), members=trio(), ensemble=True)
    assert "ensemble" not in alone
    ensemble = both.pop("ensemble")
    assert without_times(both) == without_times(alone)
    assert set(ensemble) == {"test_accuracy", "val_accuracy", "members"}
    for place, split in enumerate(("0", "1")):
        used = ensemble["members"][split]
        assert set(used) <= {"flat", "wide", "smooth"}
        assert alone["picked"][split] in used
        assert 1 <= sum(used.values()) <= 10
        assert ensemble["val_accuracy"]["values"][place] >= alone["val_accuracy"]["values"][place]


def test_an_ensemble_of_one_is_the_pick() -> None:
    summary = train_auto(graph(), QUICK, members=trio()[:1], ensemble=True)
    assert summary["ensemble"]["members"] == {"0": {"flat": 1}}
    assert summary["ensemble"]["test_accuracy"] == summary["test_accuracy"]


def test_the_ensemble_averages_what_it_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    monkeypatch.setattr(portfolio_run, "select_ensemble", lambda candidates, y: [2, 1, 2])
    summary = train_auto(data, QUICK, members=trio(), ensemble=True)
    assert summary["ensemble"]["members"] == {"0": {"smooth": 2, "wide": 1}}
    total = 0
    for entry, count in zip(trio(), (0, 1, 2), strict=True):
        prepared = prepare(data, entry.config, entry.model)
        network, _ = train_split(prepared, entry.model, entry.config, 0)
        total = total + count * predict_logits(network, prepared).softmax(1)
    for key in ("test", "val"):
        nodes = data[f"{key}_mask"][:, 0].nonzero().view(-1)
        right = (total[nodes].argmax(1) == data.y[nodes]).float().mean()
        assert summary["ensemble"][f"{key}_accuracy"]["mean"] == pytest.approx(float(right))


def test_the_ensemble_is_chosen_greedily() -> None:
    y = torch.tensor([0, 0, 1])
    # each is wrong in another place, and sure where it is right
    left = torch.tensor([[0.9, 0.1], [0.45, 0.55], [0.1, 0.9]])
    right = torch.tensor([[0.45, 0.55], [0.9, 0.1], [0.2, 0.8]])
    useless = torch.full((3, 2), 0.5)
    chosen = select_ensemble([useless, right, left], y)
    assert chosen[:2] == [2, 1]
    assert 0 not in chosen
    # one that is right everywhere gains nothing from company
    sure = torch.tensor([[0.99, 0.01], [0.99, 0.01], [0.01, 0.99]])
    assert select_ensemble([left, sure, right], y) == [1]


def test_an_ensemble_has_at_most_ten_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    y = torch.ones(12, dtype=torch.long)
    candidates = [torch.full((12, 2), 0.5) for _ in range(12)]
    # each knows one node that no other knows, so every one is worth its place
    for number, candidate in enumerate(candidates):
        candidate[number] = torch.tensor([0.1, 0.9])
    assert len(select_ensemble(candidates, y)) == 10
    monkeypatch.setattr("herofilter.training.search.ensemble.MOST_PICKS", 3)
    assert len(select_ensemble(candidates, y)) == 3


def test_certain_and_wrong_is_a_finite_loss() -> None:
    certain = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert select_ensemble([certain], torch.tensor([1, 1])) == [0]


def test_a_member_that_cannot_be_built_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, {"gcn": OutOfMemoryError("too large")})
    heard: list[Event] = []
    summary = train_auto(
        graph(),
        QUICK,
        (0, 1),
        members=[member("smooth", "gcn"), member("flat")],
        ensemble=True,
        callback=heard.append,
    )
    told = [event for event in heard if event.stage == "member"]
    assert summary["skipped"] == {"smooth": "too large"}
    assert summary["picked"] == {"0": "flat", "1": "flat"}
    assert summary["members"][0]["val_accuracy"] == {}
    assert steps(told) == [(1, 2), (2, 2)] * 2
    assert [
        (event.values["split"], event.name, event.values["val_accuracy"] is None) for event in told
    ] == [
        (0, "smooth", True),
        (0, "flat", False),
        (1, "smooth", True),
        (1, "flat", False),
    ]


def test_when_all_members_fail_the_last_reason_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, {"gcn": OutOfMemoryError("too large"), "mlp": GraphError("too odd")})
    with pytest.raises(GraphError, match=r"^too odd$"):
        train_auto(graph(), QUICK, members=[member("smooth", "gcn"), member("flat")])


def test_other_errors_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        train_auto(graph(), QUICK, members=trio(), callback=stop_in(0, 0, ZeroDivisionError()))


def test_a_large_graph_gets_short_runs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio_run, "SHORT_RUNS_ABOVE", 79)
    members = [*trio(), member("wild", lr=5.0)]
    members = [
        Member(entry.name, entry.model, entry.config.replace(epochs=14), "") for entry in members
    ]
    heard: list[tuple[str, int]] = []
    trained: list[int] = []
    ranks: list[tuple[float, float, str]] = []

    def listen(event: Event) -> None:
        if event.stage == "epoch":
            trained.append(event.done)
        elif event.stage == "member":
            assert event.values["val_accuracy"] is not None
            heard.append((event.name, max(trained)))
            ranks.append((event.number("val_accuracy"), -event.number("val_loss"), event.name))
            trained.clear()

    summary = train_auto(
        graph(),
        members[0].config,
        members=members,
        ensemble=True,
        callback=listen,
    )
    assert heard[:4] == [(entry.name, 10) for entry in members]
    assert len(heard) == 6
    finalists = {name for name, count in heard[4:] if count == 14}
    assert finalists == {name for *_, name in sorted(ranks[:4])[2:]}
    assert summary["picked"]["0"] in finalists
    assert set(summary["ensemble"]["members"]["0"]) <= finalists
    for entry in summary["members"]:
        assert entry["short"] == ([] if entry["name"] in finalists else [0])


def test_a_finalist_that_fails_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio_run, "SHORT_RUNS_ABOVE", 79)
    count = 0

    def fourth_fails(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == 4:
            raise OutOfMemoryError("no more")
        return train_split(*arguments, **options)

    monkeypatch.setattr(recipe, "train_split", fourth_fails)
    summary = train_auto(graph(), QUICK, members=trio())
    assert count == 6
    [failed] = summary["skipped"]
    assert summary["picked"]["0"] != failed
    assert [entry["name"] for entry in summary["members"] if entry["short"]] == [failed]


def test_what_a_run_leaves_behind(tmp_path: Path) -> None:
    data, members = graph(), trio()
    summary = train_auto(data, QUICK, (0, 1), "small", tmp_path, members=members, ensemble=True)
    known = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert (known["graph"], known["model"], known["ensemble"]) == ("small", "auto", True)
    assert Config.from_dict(known["config"]) == resolve_defaults(data, QUICK)
    assert [entry["name"] for entry in known["members"]] == ["flat", "wide", "smooth"]
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    for key in ("test_accuracy", "picked", "members", "skipped", "ensemble"):
        assert metrics[key] == summary[key]
    for split in (0, 1):
        assert metrics["splits"][str(split)]["picked"] == summary["picked"][str(split)]
        kept = Predictor.load(tmp_path, split)
        assert [line["epoch"] for line in kept.saved.history] == list(range(4))
        [best] = [entry for entry in members if entry.name == summary["picked"][str(split)]]
        prepared = prepare(data, best.config, best.model)
        network, result = train_split(prepared, best.model, best.config, split)
        assert kept.saved.state.keys() == network.state_dict().keys()
        for key, value in network.state_dict().items():
            assert torch.equal(kept.saved.state[key], value), key
        assert torch.equal(kept.predict_logits(), predict_logits(network, prepared))
        test = data.test_mask[:, split]
        right = (kept.predict_proba().argmax(1) == data.y)[test].float().mean()
        assert float(right) == pytest.approx(metrics["splits"][str(split)]["test_accuracy"])
        assert result.test.accuracy == metrics["splits"][str(split)]["test_accuracy"]


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt()])
def test_a_run_that_was_cut_short_is_continued(tmp_path: Path, error: BaseException) -> None:
    def run(name: str, **options: Any) -> dict[str, Any]:
        return train_auto(
            graph(), QUICK, (0, 1, 2), out=tmp_path / name, members=trio(), ensemble=True, **options
        )

    whole = run("whole")
    if isinstance(error, KeyboardInterrupt):
        summary = run("cut", callback=stop_in(1, 1, error))
        assert summary["interrupted"]
        assert summary["splits"] == [0]
        assert summary["test_accuracy"]["values"] == whole["test_accuracy"]["values"][:1]
        assert list(summary["picked"]) == ["0"]
    else:
        with pytest.raises(ZeroDivisionError):
            run("cut", callback=stop_in(1, 1, error))
    metrics = json.loads((tmp_path / "cut" / "metrics.json").read_text())
    assert list(metrics["splits"]) == ["0"]
    assert "test_accuracy" not in metrics
    heard: list[Event] = []
    summary = run("cut", callback=heard.append)
    assert {split for split, _ in epochs(heard)} == {1, 2}
    assert steps(event for event in heard if event.stage == "split") == [(1, 3), (2, 3), (3, 3)]
    assert without_times(summary) == without_times(whole)
    for name in ("config.yaml", "split-1/history.json"):
        assert (tmp_path / "cut" / name).read_text() == (tmp_path / "whole" / name).read_text()


def test_ctrl_c_between_members_ends_the_run_too() -> None:
    def stop(event: Event) -> None:
        if event.stage == "member" and event.values["split"] == 1:
            raise KeyboardInterrupt

    summary = train_auto(graph(), QUICK, (0, 1), members=trio(), callback=stop)
    assert (summary["splits"], summary["interrupted"]) == ([0], True)


@pytest.mark.parametrize("epoch", [0, 2])
def test_ctrl_c_in_the_first_split_is_passed_on(tmp_path: Path, epoch: int) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train_auto(
            graph(),
            QUICK,
            (0, 1),
            out=out,
            members=trio(),
            callback=stop_in(0, epoch, KeyboardInterrupt()),
        )
    assert not out.exists()


def test_another_portfolio_is_another_run(tmp_path: Path) -> None:
    train_auto(graph(), QUICK, out=tmp_path, members=trio())
    for options in ({"members": trio()[:2]}, {"members": trio(), "ensemble": True}):
        with pytest.raises(HeroFilterError, match="configuration differs; give another --out"):
            train_auto(graph(), QUICK, out=tmp_path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name: str) -> None:
    summary = train_auto(AWKWARD[name](), QUICK.replace(epochs=2, patch_size=16), ensemble=True)
    assert summary["skipped"] == {}
    assert 0 <= summary["test_accuracy"]["mean"] <= 1
    names = {entry["name"] for entry in summary["members"]}
    assert ("undirected" in names) == (name == "directed")


def test_karate() -> None:
    summary = train_auto(load_dataset("karate", split=None), Config().replace(epochs=20))
    assert summary["skipped"] == {}
    assert summary["val_accuracy"]["mean"] > 0.5


def test_a_class_that_is_missing_in_training() -> None:
    data = select_split(graph(), 0)
    data.train_mask = data.train_mask & (data.y != 2)
    summary = train_auto(data, QUICK, ensemble=True)
    assert summary["skipped"] == {}
    assert summary["splits"] == [0]


def test_mistakes_are_told_before_any_training() -> None:
    heard: list[Event] = []

    def run(data: Data, splits: tuple[int, ...] = (0,), **options: Any) -> None:
        train_auto(data, QUICK, splits, callback=heard.append, **options)

    with pytest.raises(ConfigError, match=r"split must be between 0 and 2 \(got 3\)"):
        run(graph(), (0, 3))
    bare = graph()
    del bare.val_mask
    with pytest.raises(GraphError, match="got no val_mask"):
        run(bare)
    empty = graph()
    empty.val_mask = torch.zeros_like(empty.val_mask)
    with pytest.raises(GraphError, match="val_mask must select at least one node"):
        run(empty)
    with pytest.raises(ConfigError) as caught:
        run(graph(), members=[])
    assert str(caught.value) == "members must be at least one and have different names (got none)"
    with pytest.raises(ConfigError) as caught:
        run(graph(), members=[member("flat"), member("flat")])
    assert str(caught.value) == (
        "members must be at least one and have different names (got flat, flat)"
    )
    with pytest.raises(ConfigError, match=r"model must be one of .*did you mean 'gcn'"):
        run(graph(), members=[member("flat"), member("smooth", "gnc")])
    assert heard == []
