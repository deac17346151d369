"""The scalability benchmark on graphs of sixty nodes: plan, resumption, slopes and files."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks import scale
from benchmarks.scale import PATCH_SIZE, Task, main, plan, read_lines, run_scale, scale_table, slope
from benchmarks.scale_picture import scale_picture
from herofilter.data.synthetic.power_law import power_law_graph
from herofilter.reproduce.speed.child import Outcome
from herofilter.reproduce.speed.scale_work import STAGES, Graph, make_graph, read_graph
from tests.benchmarks.here import here


def line(nodes: int, seconds: float, stage: str = "epoch", patch_size: int = 16) -> dict[str, Any]:
    sizes = {"nodes": nodes, "edges": 4 * nodes, "seed": 0, "patch_size": patch_size}
    return {**sizes, "stage": stage, "seconds": seconds, "peak_gib": 1.0}


def test_the_average_degree_is_that_of_snap_patents() -> None:
    assert Graph.of_size(1000).edges == 4780
    graph = Graph(2_923_922, 13_975_788, 0)
    assert plan([], [8], patents=True) == [Task(graph, 16), Task(graph, 32, ("patcher",))]


def test_patch_sizes_are_compared_on_one_graph() -> None:
    tasks = plan([200_000, 1000, 100_000], [8, 32], patents=False)
    sizes = [(task.graph.nodes, task.patch_size) for task in tasks]
    assert sizes == [(1000, 16), (100_000, 8), (100_000, 16), (100_000, 32), (200_000, 16)]


def test_a_graph_on_disk_is_the_graph_that_was_drawn(tmp_path: Path) -> None:
    graph = Graph(60, 280, seed=1)
    make_graph(graph, tmp_path)
    kept, generated = read_graph(graph, tmp_path), power_law_graph(60, 280, seed=1)
    assert kept.num_nodes == 60
    assert kept.x.equal(generated.x)
    assert kept.edge_index.equal(generated.edge_index)
    assert kept.train_mask.equal(generated.train_mask)


def test_every_stage_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(work: Any, *arguments: Any) -> Outcome:
        calls.append(work.__name__ if work is make_graph else arguments[1])
        return here(work, *arguments)

    monkeypatch.setattr(scale, "run_child", counted)
    path = tmp_path / "scale.jsonl"
    tasks = [Task(Graph.of_size(60), 4), Task(Graph.of_size(60), PATCH_SIZE)]
    lines, failures = run_scale(tasks, path)
    assert failures == []
    assert calls == ["make_graph", *STAGES, *STAGES]
    assert [(entry["patch_size"], entry["stage"]) for entry in lines] == [
        (width, stage) for width in (4, 16) for stage in STAGES
    ]
    assert all(entry["seconds"] > 0 and entry["peak_gib"] > 0 for entry in lines)
    calls.clear()
    assert run_scale(tasks, path) == (lines, [])
    assert calls == []
    # after a line that was cut off, the rest is measured, and the patches are made again
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index('"inference"')], encoding="utf-8")
    again, _ = run_scale(tasks[:1], path)
    assert calls == ["make_graph", "patcher", "inference"]
    assert [entry["stage"] for entry in again] == list(STAGES)


def test_a_stage_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "run_child", here)
    tasks = [Task(Graph.of_size(60), 61)]
    lines, failures = run_scale(tasks, tmp_path / "scale.jsonl")
    assert lines == []
    assert [(entry["stage"], entry["why"]) for entry in failures] == [
        (
            "patcher",
            "patch_size must be between 1 and the number of nodes (got 61; the graph has 60 nodes)",
        )
    ]


def test_slopes_are_those_of_power_laws_from_ten_thousand_nodes_up() -> None:
    lines = [line(nodes, 1e-6 * nodes**1.3) for nodes in (10_000, 50_000, 200_000)]
    assert slope(lines) == pytest.approx(1.3)
    # small graphs and other patch sizes don't count
    others = [line(1000, 5.0), line(90_000, 100.0, patch_size=64)]
    assert slope(lines + others) == pytest.approx(1.3)
    assert slope(lines[:1]) is None


def test_a_summary_has_both_panels() -> None:
    lines = [line(30_000, 3.0), line(10_000, 1.0), line(10_000, 0.5, patch_size=8)]
    summary = scale.summarise(lines)
    assert [row["nodes"] for row in summary["by_size"]["epoch"]] == [10_000, 30_000]
    assert [row["patch_size"] for row in summary["by_patch"]["epoch"]] == [8, 16]
    assert summary["slopes"]["epoch"] == pytest.approx(1.0)
    assert summary["slopes"]["patcher"] is None


def test_a_graph_of_one_patch_size_leaves_the_second_panel_empty(tmp_path: Path) -> None:
    lines = [line(30_000, 3.0), line(10_000, 1.0)]
    summary = scale.summarise(lines)
    assert summary["by_patch"]["epoch"] == []
    path = tmp_path / "scale.png"
    scale_picture(summary["by_size"], summary["by_patch"], summary["slopes"], path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_command_writes_lines_summary_and_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scale, "run_child", here)
    path = tmp_path / "scale.jsonl"
    arguments = ["--sizes", "40,60", "--patch-sizes", "4", "--lines", str(path)]
    main([*arguments, "--json", "--write"])
    result = json.loads(capsys.readouterr().out)
    assert len(result["lines"]) == len(read_lines(path)) == 3 * 3
    assert [row["patch_size"] for row in result["by_patch"]["patcher"]] == [4, 16]
    kept = json.loads((tmp_path / "scale.json").read_text(encoding="utf-8"))
    assert kept["lines"] == result["lines"]
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")
    console = Console(width=120)
    with console.capture() as shown:
        failure = {**line(7, 0.0), "why": "too large"}
        console.print(scale_table({**result, "failures": [failure]}))
    assert "too large" in shown.get()
    assert "inference" in shown.get()
    main([*arguments, "--fresh"])
    assert len(read_lines(path)) == 9
