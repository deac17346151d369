"""The benchmark of the patcher on a graph of 34 nodes: keys of the result, rules and messages."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import patcher
from benchmarks.patcher import main, patcher_table, run_patcher
from benchmarks.patcher_work import Task, measure_all_nodes, measure_ours, measure_peer
from benchmarks.peers import PACKAGES
from herofilter.reproduce.speed.child import Outcome
from tests.benchmarks.here import here

KEYS = {
    "recall",
    "filled",
    *(f"speedup_{package}" for package in PACKAGES),
    "seconds_all_nodes",
    "nodes_per_second",
    "ns_per_edge",
    "peak_memory_gib",
    "environment",
    "versions",
}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task("karate", patch_size=4, c=0.5, num_sources=5, seed=0, loops=True, folder=tmp_path)


@pytest.fixture
def _only_pyg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the libraries of the extra be absent, as they are in most installations."""
    absent = {package: f"get {package}" for package in PACKAGES if package != "pyg"}
    monkeypatch.setattr(patcher, "missing_peers", lambda: absent)
    monkeypatch.setattr(patcher, "run_child", here)


def test_sources_are_different_nodes_and_fewer_are_the_first_of_more(task: Task) -> None:
    few = task.sources(34)
    assert len(set(few.tolist())) == 5
    assert Task(**{**vars(task), "num_sources": 9}).sources(34)[:5].tolist() == few.tolist()


def test_the_patcher_is_exact_on_a_tiny_graph(task: Task) -> None:
    found = measure_ours(task)
    assert found["recalls"] == [1.0] * 5
    assert found["entries"] == 2 * 78 + 34
    assert found["seconds_per_source"] >= 0
    assert task.truth_path.is_file()


def test_the_loosest_tolerance_that_is_as_good_is_taken(task: Task) -> None:
    measure_ours(task)
    easy = measure_peer(task, "PyG get_ppr", [0.0] * 5, budget=60.0)
    assert easy["reached"]
    assert easy["tolerance"] == 1e-4
    # nothing is better than perfect, so the search goes on to the tightest
    never = measure_peer(task, "PyG get_ppr", [1.1] * 5, budget=60.0)
    assert not never["reached"]
    assert never["tolerance"] < 1.1e-7
    assert never["recall"] == 1.0
    assert never["sources"] == 5


def test_all_nodes(task: Task) -> None:
    found = measure_all_nodes(task, threads=1)
    assert found["filled"] == 1.0
    assert 0 <= found["certified"] <= 1
    assert found["nodes_per_second"] == pytest.approx(34 / found["seconds_all_nodes"])
    assert 0.05 < found["peak_memory_gib"] < 50


@pytest.mark.usefixtures("_only_pyg")
def test_absent_peers_are_null_and_not_an_end(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--graph", "karate", "--sources", "5", "--patch-size", "4", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert set(result) >= KEYS
    assert result["recall"] == 1.0
    assert result["speedup_networkit"] is None
    assert result["missing"]["igraph"] == "get igraph"
    assert [row["name"] for row in result["peers"]] == ["PyG get_ppr"]
    console = Console(width=140)
    with console.capture() as shown:
        console.print(patcher_table(result))
    assert "not installed" in shown.get()
    assert "PyG get_ppr" in shown.get()


@pytest.mark.usefixtures("_only_pyg")
def test_a_written_result_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(patcher, "RESULT", tmp_path / "patcher.json")
    main(["--graph", "karate", "--sources", "3", "--patch-size", "4", "--write"])
    kept = json.loads((tmp_path / "patcher.json").read_text(encoding="utf-8"))
    assert kept["sources"] == 3
    assert kept["command"].startswith("python -m benchmarks.patcher --graph karate --sources 3")
    assert "get igraph" in capsys.readouterr().out


def test_a_package_has_the_speed_of_its_best_way() -> None:
    rows = [
        {"package": "networkit", "speedup": 7.0},
        {"package": "networkit", "speedup": 3.0},
        {"package": "networkit", "speedup": None},
        {"package": "pyg", "speedup": None},
    ]
    assert patcher._speedup("networkit", rows) == 3.0
    assert patcher._speedup("pyg", rows) is None
    assert patcher._speedup("igraph", rows) is None


def test_a_peer_that_fails_or_is_never_as_good_says_so() -> None:
    failed = patcher._row("igraph", "igraph", Outcome(why="took longer"), 1.0)
    assert failed == {"name": "igraph", "package": "igraph", "why": "took longer", "speedup": None}
    value = {"reached": False, "seconds_per_source": 2.0}
    assert patcher._row("igraph", "igraph", Outcome(value), 1.0)["why"] == "never as good"
    good = patcher._row("igraph", "igraph", Outcome({**value, "reached": True}), 0.5)
    assert (good["speedup"], good["why"]) == (4.0, None)


def test_a_patcher_that_fails_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patcher, "run_child", lambda *a, **k: Outcome(why="no such graph"))
    with pytest.raises(SystemExit, match=r"^the patcher couldn't be measured: no such graph$"):
        run_patcher("karate", 3, 4)
