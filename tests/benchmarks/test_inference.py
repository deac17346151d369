"""The benchmark of inference on 34 nodes: every model has a row, and the row says what holds."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import Tensor
from torch_geometric.nn.attention import PolynormerAttention

from benchmarks import inference
from benchmarks.inference import inference_table, main, run_inference
from herofilter import list_models
from herofilter.errors import ConfigError
from herofilter.reproduce.speed import inference_work
from herofilter.reproduce.speed.child import Outcome
from herofilter.reproduce.speed.inference_work import (
    load_graph,
    measure_inference,
    measure_interleaved,
    ratio,
    settings_of,
)
from tests.benchmarks.here import here

MODELS = [entry.name for entry in list_models() if entry.gradients]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the variable that the measured work changes, since it runs in this process here."""
    monkeypatch.setenv("HEROFILTER_CACHE", os.environ["HEROFILTER_CACHE"])


@pytest.fixture(autouse=True)
def _few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference_work, "LEAST", 0.0)
    monkeypatch.setattr(inference_work, "ROUND_SECONDS", 0.0)
    monkeypatch.setattr(inference, "ROUNDS", 2)


def test_every_model_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "run_child", here)
    rows = run_inference(["karate"], MODELS, repetitions=2)["graphs"]["karate"]
    assert [row["model"] for row in rows] == MODELS
    assert {"herofilter", "fast-herofilter", "gcn", "linkx"} <= set(MODELS)
    assert {row["model"]: row["why"] for row in rows if row["why"] is not None} == {}
    # two rounds of three passes, of which the first isn't counted
    for row in rows:
        assert 0 < row["fastest"] <= row["seconds"]
        assert row["precompute_seconds"] > 0
        assert row["parameters"] > 0
        assert (row["nodes"], row["repetitions"]) == (34, 4)
    fast = next(row for row in rows if row["model"] == "fast-herofilter")
    assert fast["ratio"] == 1
    gcn = next(row for row in rows if row["model"] == "gcn")
    assert gcn["ratio"] == pytest.approx(gcn["seconds"] / fast["seconds"])


def test_all_models_are_equally_wide_and_deep() -> None:
    for model in MODELS:
        config = settings_of(model)
        # a stem and one block are two layers
        layers = 1 if model.endswith("herofilter") else 2
        assert (config.model.hidden_channels, config.model.num_layers) == (64, layers)
    assert settings_of("herofilter").patcher.patcher == "spectral"
    assert settings_of("fast-herofilter").patcher.patcher == "auto"


def test_every_model_may_use_all_threads() -> None:
    used: dict[str, set[int]] = {}
    for model in ("gcn", "fast-herofilter"):
        entry = inference_work.find_model(model)
        config = settings_of(model)
        data = inference_work.prepare(load_graph("karate"), config, model)
        network = entry.build(data, config)
        ways = inference_work._variants(network, data)
        used[model] = {count for count, _ in ways}
        logits = [work() for _, work in ways]
        torch.testing.assert_close(logits[0], logits[-1])
    assert max(used["gcn"]) == max(used["fast-herofilter"]) == torch.get_num_threads()


def test_a_spectrum_of_an_earlier_run_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def remember(data: Any, config: Any, model: str) -> Any:
        seen.append(os.environ["HEROFILTER_CACHE"])
        return inference_work_prepare(data, config, model)

    inference_work_prepare = inference_work.prepare
    monkeypatch.setattr(inference_work, "prepare", remember)
    before = os.environ["HEROFILTER_CACHE"]
    measure_inference("karate", "mlp", 1, 1.0)
    # the first call only warms up
    assert seen[0] == before
    assert seen[1] != before
    assert not Path(seen[1]).exists()


def test_a_model_that_cannot_run_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: Any, graph: str, model: Any, *rest: Any, **limits: Any) -> Outcome:
        assert work is not measure_interleaved, "one model can't be interleaved with others"
        if model == "gat":
            return Outcome(why="a matrix needs 3 TiB (22 GiB are free); use fewer nodes")
        return here(work, graph, model, *rest)

    monkeypatch.setattr(inference, "run_child", refuse)
    rows = run_inference(["karate"], ["gat", "mlp"], repetitions=1)["graphs"]["karate"]
    assert rows[0]["seconds"] is None
    assert rows[0]["ratio"] is None
    # without fast-herofilter there is nothing to compare with
    assert rows[1]["ratio"] is None
    console = Console(width=160)
    with console.capture() as shown:
        console.print(inference_table("karate", rows))
    assert "a matrix needs 3 TiB (22 GiB are free); use fewer nodes" in shown.get()
    assert "untrained weights" in shown.get()


def test_models_take_turns_on_a_small_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def ways(network: Any, data: Any) -> Any:
        name = type(network).__name__
        return [(count, partial(order.append, f"{name} {count}")) for count in (1, 2)]

    monkeypatch.setattr(inference_work, "_variants", ways)
    rows = measure_interleaved("karate", ["mlp", "gcn"], 2)
    one = [name for name in ("MLP 1", "MLP 2", "GCN 1", "GCN 2") for _ in range(3)]
    assert [name.upper() for name in order] == 2 * one
    assert {row["repetitions"] for row in rows.values()} == {4}
    # a graph that isn't small is measured model by model
    monkeypatch.setattr(inference, "run_child", here)
    monkeypatch.setattr(inference, "is_small", lambda nodes: nodes < 34)
    result = run_inference(["karate"], ["mlp", "gcn"], repetitions=1)
    assert "turns" not in result["runs"]["karate"]


def test_turns_that_fail_leave_the_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(work: Any, *rest: Any, **limits: Any) -> Outcome:
        return Outcome(why="no room") if work is measure_interleaved else here(work, *rest)

    monkeypatch.setattr(inference, "run_child", fail)
    result = run_inference(["karate"], ["mlp", "gcn"], repetitions=2)
    assert [row["repetitions"] for row in result["graphs"]["karate"]] == [2, 2]
    assert "karate: not interleaved: no room" in capsys.readouterr().err


def test_limits_reach_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def spy(*arguments: Any, **limits: Any) -> Outcome:
        seen.append((arguments[1:], limits))
        return Outcome(why="none")

    monkeypatch.setattr(inference, "run_child", spy)
    monkeypatch.setattr(inference, "free_memory", lambda: 100)
    run_inference(["karate"], ["mlp"], repetitions=3, limit=8.0)
    assert seen == [(("karate", "mlp", 3, 2.0), {"limit": 8.0, "memory": 85})]


def test_the_command_writes_numbers_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inference, "run_child", here)
    monkeypatch.setattr(inference, "RESULT", tmp_path / "inference.json")
    arguments = ["--graphs", "karate", "--models", "mlp,fast-herofilter", "--repetitions", "1"]
    main([*arguments, "--json", "--write"])
    result = json.loads(capsys.readouterr().out)
    assert result["weights"] == "untrained"
    assert json.loads((tmp_path / "inference.json").read_text(encoding="utf-8")) == result
    assert (tmp_path / "inference.png").read_bytes().startswith(b"\x89PNG")
    # another graph joins the first
    data = load_graph("karate")
    monkeypatch.setattr(inference_work, "load_dataset", lambda name: data)
    main(["--graphs", "club", *arguments[2:], "--write"])
    assert "once before" in capsys.readouterr().out
    both = json.loads((tmp_path / "inference.json").read_text(encoding="utf-8"))
    assert list(both["graphs"]) == list(both["runs"]) == ["karate", "club"]
    assert both["graphs"]["karate"] == result["graphs"]["karate"]
    # and other models join those of the first
    main(["--graphs", "karate", "--models", "gcn,fast-herofilter", "--write", "--add"])
    more = json.loads((tmp_path / "inference.json").read_text(encoding="utf-8"))
    assert [row["model"] for row in more["graphs"]["karate"]] == ["mlp", "gcn", "fast-herofilter"]
    assert more["graphs"]["karate"][0] == result["graphs"]["karate"][0]
    assert more["graphs"]["club"] == both["graphs"]["club"]
    assert more["runs"]["karate, added"]["models"] == ["gcn", "fast-herofilter"]
    assert more["runs"]["karate"] == both["runs"]["karate"]
    # each run of other models has a separate entry, also after a second one
    for models in ("chebnet,fast-herofilter", "chebnet,fast-herofilter"):
        main(["--graphs", "karate", "--models", models, "--write", "--add"])
    runs = json.loads((tmp_path / "inference.json").read_text(encoding="utf-8"))["runs"]
    assert list(runs) == ["karate", "club", "karate, added", "karate, added 2"]
    assert runs["karate, added"]["models"] == ["gcn", "fast-herofilter"]
    assert runs["karate, added 2"]["models"] == ["chebnet", "fast-herofilter"]
    with pytest.raises(ConfigError, match=r"did you mean 'mlp'\?"):
        main(["--models", "mlpp"])


def test_graphs_have_short_names(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(inference_work, "load_dataset", asked.append)
    monkeypatch.setattr(inference_work, "power_law_graph", lambda *sizes: asked.append(sizes))
    for name in ("squirrel", "chameleon", "arxiv", "patents", "karate"):
        load_graph(name)
    patents = (2_923_922, 13_975_788)
    assert asked == ["squirrel", "chameleon", "arxiv-structure", patents, "karate"]


def test_ratios_need_both_numbers() -> None:
    assert ratio(3.0, 2.0) == 1.5
    assert ratio(None, 2.0) is None
    assert ratio(3.0, None) is None
    assert ratio(3.0, 0.0) is None


def test_polynormer_is_measured_with_its_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    forward = PolynormerAttention.forward

    def counted(self: PolynormerAttention, x: Tensor, *rest: object) -> Tensor:
        calls.append(x.size(1))
        out: Tensor = forward(self, x, *rest)
        return out

    monkeypatch.setattr(PolynormerAttention, "forward", counted)
    measure_inference("karate", "polynormer", 1, 1.0)
    assert 34 in calls
