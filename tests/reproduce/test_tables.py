"""The paper's tables anew: what is trained, when test labels are read, and how it continues."""

from pathlib import Path
from typing import Any

import pytest

from herofilter.callbacks import Event
from herofilter.errors import ConfigError
from herofilter.reproduce import table_graphs, table_rows, tables, trials
from herofilter.reproduce.jobs import Outcome, TrainingJob
from herofilter.reproduce.ranks import add_ranks
from herofilter.reproduce.result_file import ResultFile
from herofilter.reproduce.table_graphs import GraphPlan
from herofilter.reproduce.tables import complete, run_table
from tests.events import told

QUICK = {"epochs": 4, "hidden_channels": 8, "patch_size": 4}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every training tiny; karate is always at hand."""
    for room in (trials, table_rows, tables):
        monkeypatch.setattr(room, "PROTOCOL", {**trials.PROTOCOL, **QUICK})


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two splits of karate choose for all, as on a large graph."""
    monkeypatch.setattr(table_graphs, "NESTED_UP_TO", 0)
    monkeypatch.setattr(table_graphs, "SEARCH_SPLITS", ((100, 2), (3000, 1)))


def karate(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "graphs": ["karate"],
        "rows": ["mlp", "gcn"],
        "splits": [0, 1, 2],
        "trials": 2,
        "out": tmp_path,
    }
    return run_table("heterophilic", **{**options, **changes})


def test_every_split_chooses_its_own_settings(tmp_path: Path) -> None:
    result = karate(tmp_path)
    entry = result["graphs"]["karate"]
    assert entry["nested"]
    assert entry["search_splits"] == [0, 1, 2]
    records = ResultFile(tmp_path / "trainings.jsonl").records
    assert {key.stage for key in records} == {"nested"}
    # no second training of what was chosen
    assert len(records) == 2 * 2 * 3
    for name, cell in entry["rows"].items():
        assert [choice["splits"] for choice in cell["choices"]] == [[0], [1], [2]]
        for split, choice in enumerate(cell["choices"]):
            own = {
                key.config: record
                for key, record in records.items()
                if (key.model, key.split) == (name, split)
            }
            best = max(own, key=lambda config: own[config]["val_accuracy"])
            assert choice["config_hash"] == best
            assert choice["val"] == own[best]["val_accuracy"]
            assert cell["test"]["values"][split] == own[best]["test_accuracy"]
        assert cell["reason"] == ""


@pytest.mark.usefixtures("shared")
def test_a_shared_search_reads_no_test_labels_and_finals_are_the_choice(tmp_path: Path) -> None:
    result = karate(tmp_path)
    assert not result["graphs"]["karate"]["nested"]
    assert result["graphs"]["karate"]["search_splits"] == [0, 1]
    records = ResultFile(tmp_path / "trainings.jsonl").records
    search = {key: record for key, record in records.items() if key.stage == "search"}
    final = {key: record for key, record in records.items() if key.stage == "final"}
    assert len(search) == 2 * 2 * 2
    assert len(final) == 2 * 3
    assert not any(name.startswith("test_") for record in search.values() for name in record)
    for name, cell in result["graphs"]["karate"]["rows"].items():
        (choice,) = cell["choices"]
        assert choice["splits"] == [0, 1, 2]
        assert {key.config for key in final if key.model == name} == {choice["config_hash"]}
        accuracies = [final[key]["test_accuracy"] for key in final if key.model == name]
        assert sorted(cell["test"]["values"]) == sorted(accuracies)
        assert cell["reason"] == ""


def test_a_finished_table_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = karate(tmp_path)
    before = (tmp_path / "trainings.jsonl").read_bytes()
    monkeypatch.setattr(tables, "run_job", _never)
    assert karate(tmp_path) == first
    assert karate(tmp_path, finished=True) == first
    assert (tmp_path / "trainings.jsonl").read_bytes() == before


def test_killed_anywhere_it_continues_to_the_same_table(tmp_path: Path) -> None:
    whole = karate(tmp_path / "whole")
    path = tmp_path / "cut" / "trainings.jsonl"
    path.parent.mkdir()
    lines = (tmp_path / "whole" / "trainings.jsonl").read_bytes().splitlines(keepends=True)
    for count in (1, 5, len(lines) - 1):
        path.write_bytes(b"".join(lines[:count]) + lines[count][:30])
        heard: list[Event] = []
        result = karate(path.parent, callback=heard.append)
        assert _accuracies(result) == _accuracies(whole)
        assert [event.done for event in heard] == list(range(count, len(lines) + 1))


@pytest.mark.usefixtures("_quick_workers")
def test_two_workers_give_the_same_numbers(tmp_path: Path) -> None:
    one = karate(tmp_path / "one", rows=["gcn"], splits=[0])
    two = karate(tmp_path / "two", rows=["gcn"], splits=[0], workers=2)
    assert _accuracies(one) == _accuracies(two)


def test_more_trials_keep_the_earlier_ones(tmp_path: Path) -> None:
    karate(tmp_path, rows=["gcn"])
    known = len(ResultFile(tmp_path / "trainings.jsonl").records)
    result = karate(tmp_path, rows=["gcn"], trials=3)
    # one trial more on each split
    assert len(ResultFile(tmp_path / "trainings.jsonl").records) == known + 3
    assert result["graphs"]["karate"]["rows"]["gcn"]["reason"] == ""


def test_fewer_trials_or_splits_than_asked_for_are_shown_and_say_so(tmp_path: Path) -> None:
    whole = karate(tmp_path, rows=["gcn"])["graphs"]["karate"]["rows"]["gcn"]
    more = karate(tmp_path, rows=["gcn"], trials=5, finished=True)
    cell = more["graphs"]["karate"]["rows"]["gcn"]
    assert cell["reason"] == "2 of 5 trials"
    assert cell["test"] == whole["test"]
    assert cell["rank"] is None
    wider = karate(tmp_path, rows=["gcn"], splits=[0, 1, 2, 3, 4], trials=5, finished=True)
    assert wider["graphs"]["karate"]["rows"]["gcn"]["reason"] == "3 of 5 splits, 2 of 5 trials"


@pytest.mark.usefixtures("shared")
def test_a_shared_choice_of_fewer_trials_is_shown_too(tmp_path: Path) -> None:
    whole = karate(tmp_path, rows=["gcn"])["graphs"]["karate"]["rows"]["gcn"]
    cell = karate(tmp_path, rows=["gcn"], trials=5, finished=True)["graphs"]["karate"]["rows"]
    assert cell["gcn"]["reason"] == "2 of 5 trials"
    assert cell["gcn"]["test"] == whole["test"]


def test_what_lacks_memory_says_so_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(job: TrainingJob) -> Outcome:
        if job.model == "gcn":
            return Outcome(job, failure="it needs 9 TiB (1 GiB are free)", lacks_memory=True)
        return real(job)

    real = tables.run_job
    monkeypatch.setattr(tables, "run_job", refuse)
    result = karate(tmp_path)
    cell = result["graphs"]["karate"]["rows"]["gcn"]
    assert cell["reason"] == "it needs 9 TiB (1 GiB are free)"
    assert cell["rank"] is None
    assert "test" not in cell
    assert result["graphs"]["karate"]["rows"]["mlp"]["rank"] == 1
    monkeypatch.setattr(tables, "run_job", real)
    assert karate(tmp_path)["graphs"]["karate"]["rows"]["gcn"]["reason"] == ""


def test_a_trial_that_fails_costs_the_model_that_trial_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(job: TrainingJob) -> Outcome:
        if job.config.train.weight_decay == 5e-3:
            return Outcome(job, failure="the training loss must be a number (got nan)")
        return real(job)

    real = tables.run_job
    monkeypatch.setattr(tables, "run_job", stumble)
    cell = karate(tmp_path, rows=["gcn"])["graphs"]["karate"]["rows"]["gcn"]
    assert [choice["settings"] for choice in cell["choices"]] == [{}, {}, {}]
    assert cell["reason"] == ""
    monkeypatch.setattr(tables, "run_job", _never)
    karate(tmp_path, rows=["gcn"])


def test_cells_that_cannot_run_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "run_job", _never)
    monkeypatch.setattr(tables, "on_disk", lambda graph: graph == "karate")
    result = run_table(
        "homophilic",
        ["cora", "karate"],
        ["gcn", "herofilter-directed"],
        out=tmp_path,
        finished=True,
    )
    absent = result["graphs"]["cora"]["rows"]["gcn"]
    assert absent["reason"] == "no data here; `herofilter info cora` fetches it"
    assert absent["paper"] == (86.1, 1.0)
    directed = result["graphs"]["karate"]["rows"]["herofilter-directed"]
    assert directed["reason"] == "the graph has no directions"
    assert result["graphs"]["karate"]["rows"]["gcn"]["reason"] == "not reached yet"


def test_small_graphs_come_first_and_cells_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[tuple[str, str]] = []

    def note(job: TrainingJob) -> Outcome:
        order.append((job.graph, job.model))
        return Outcome(job, {"val_accuracy": 0.5, "test_accuracy": 0.5, "seconds": 1.0})

    monkeypatch.setattr(tables, "run_job", note)
    monkeypatch.setattr(tables, "on_disk", lambda graph: True)
    monkeypatch.setattr(
        tables, "plan_graph", lambda graph, splits: GraphPlan(graph, 50, False, (0,))
    )
    run_table("homophilic", ["pubmed", "cora"], ["mlp", "gcn"], splits=[0], trials=1, out=tmp_path)
    assert list(dict.fromkeys(order)) == [
        ("cora", "mlp"),
        ("cora", "gcn"),
        ("pubmed", "mlp"),
        ("pubmed", "gcn"),
    ]


def test_ranks_are_shared_by_equals_and_leave_out_what_is_beside() -> None:
    def cell(mean: float, paper: float | None = None, reason: str = "") -> dict[str, Any]:
        return {
            "test": {"mean": mean},
            "reason": reason,
            "paper": None if paper is None else (paper, 1.0),
        }

    texas = {
        "mlp": cell(0.7, 70.0),
        "gcn": cell(0.8, 90.0),
        "gat": cell(0.8),
        "appnp": cell(0.99, reason="3 of 10 splits"),
        "herofilter-directed": cell(0.95),
    }
    cora = {row: cell(0.5, reason="not reached yet") for row in texas} | {"gcn": cell(0.4)}
    graphs = {"texas": {"rows": texas}, "cora": {"rows": cora}}
    summary: dict[str, Any] = {"rows": list(texas), "graphs": graphs}
    add_ranks(summary)
    assert [cell["rank"] for cell in texas.values()] == [3, 1, 1, None, None]
    assert [cell["paper_rank"] for cell in texas.values()] == [2, 1, None, None, None]
    assert [entry["num_ranked"] for entry in summary["graphs"].values()] == [3, 1]
    # over how many graphs is said, as a mean over fewer is another thing
    assert summary["mean_rank"] == {
        "mlp": {"mean": 3, "graphs": 1},
        "gcn": {"mean": 1, "graphs": 2},
        "gat": {"mean": 1, "graphs": 1},
        "appnp": None,
        "herofilter-directed": None,
    }


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"table": "third"}, "a table must be one of homophilic, heterophilic, modern"),
        ({"graphs": ["texsa"]}, "did you mean 'texas'"),
        ({"rows": ["gnc"]}, "did you mean 'gcn'"),
        ({"rows": []}, r"models must name at least one and none twice \(got none\)"),
        ({"graphs": ["texas", "texas"]}, r"none twice \(got texas,texas\)"),
        ({"splits": [10]}, r"splits must be between 0 and 9 \(got 10\)"),
        ({"trials": 0}, r"trials must be at least 1 \(got 0\)"),
        ({"workers": 0}, r"workers must be at least 1 \(got 0\)"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        run_table(**{"table": "homophilic", "out": tmp_path, **changes})


def test_the_command_is_that_of_the_result(tmp_path: Path) -> None:
    result = karate(tmp_path, finished=True)
    assert result["command"] == (
        "herofilter bench heterophilic --graphs karate --models mlp,gcn --splits 0,1,2 "
        f"--trials 2 --out {tmp_path}"
    )


def test_nothing_to_do() -> None:
    heard: list[Event] = []
    complete([], 1, heard.append)
    assert told(heard) == [(0, 0, "starting")]


def _never(job: TrainingJob) -> Outcome:
    raise AssertionError(f"{job} was trained again")


def _accuracies(result: dict[str, Any]) -> dict[str, Any]:
    return {
        (graph, row): cell["test"]
        for graph, entry in result["graphs"].items()
        for row, cell in entry["rows"].items()
    }
