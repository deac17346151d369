"""The runner: what is finished is kept, whatever ends a run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.errors import ConfigError, GraphError, RunError
from herofilter.report.figure import Figure, Lines, Panel
from herofilter.reproduce.studies import run as run_module
from herofilter.reproduce.studies.run import RECORDS, StudyFile, run_studies
from herofilter.reproduce.studies.study import Finished, Record, Study, Summary, Task
from herofilter.reproduce.studies.training_task import QUICK, training, training_tasks
from herofilter.reproduce.studies.verdict import CONFIRMED, Finding
from tests.events import stop_after, told

DONE: list[int] = []


def note(task: Task) -> Record:
    DONE.append(task.split)
    if task.variant == "bad":
        raise GraphError("a graph must be good")
    return {"square": task.split**2}


class Squares(Study):
    name = "squares"
    title = "Squares"
    reproduces = "Table 0"
    claim = "squares rise."
    variant: ClassVar[str] = "good"

    def tasks(self, quick: bool) -> list[Task]:
        return [
            Task("karate", "none", Config(), split, note, "square", self.variant)
            for split in range(2 if quick else 4)
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        squares = [record["square"] for _, record in finished]
        panel = Panel("", "split", "square", (Lines("ours", [*range(len(squares))], squares),))
        rows = [{"split": split, "square": square} for split, square in enumerate(squares)]
        finding = Finding(("They <rise>.",), CONFIRMED, "Each is larger than the one before.")
        return Summary(rows, Figure("Squares", (panel,)), finding)


@pytest.fixture(autouse=True)
def _squares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "STUDIES", {"squares": Squares()})
    DONE.clear()


def test_an_interrupted_run_continues(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_studies(["squares"], tmp_path, callback=stop_after(2))
    assert DONE == [0, 1]
    result = run_studies(["squares"], tmp_path)["squares"]
    assert DONE == [0, 1, 2, 3]
    assert [row["square"] for row in result["rows"]] == [0, 1, 4, 9]


def test_half_a_line_counts_as_not_done(tmp_path: Path) -> None:
    run_studies(["squares"], tmp_path)
    path = tmp_path / RECORDS
    path.write_bytes(path.read_bytes()[:-40])
    run_studies(["squares"], tmp_path)
    assert DONE == [0, 1, 2, 3, 3]


def test_events_count_all_tasks(tmp_path: Path) -> None:
    events: list[Event] = []
    run_studies(["squares"], tmp_path, quick=True, callback=events.append)
    assert told(events) == [
        (0, 2, "squares: starting"),
        (1, 2, "squares: good on karate, split 0"),
        (2, 2, "squares: good on karate, split 1"),
    ]


def test_a_failure_names_the_study_and_leaves_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Squares, "variant", "bad")
    with pytest.raises(RunError, match=r"squares: .*a graph must be good.*run it again"):
        run_studies(["squares"], tmp_path)
    assert DONE == [0, 1, 2, 3]
    assert not (tmp_path / "squares").exists()


def test_names_and_workers_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a study must be one of squares .*did you mean"):
        run_studies(["square"], tmp_path)
    with pytest.raises(ConfigError, match="workers must be at least 1"):
        run_studies(["squares"], tmp_path, workers=0)


def test_the_page_escapes_what_it_shows(tmp_path: Path) -> None:
    run_studies(["squares"], tmp_path, quick=True)
    page = (tmp_path / "squares" / "figure.html").read_text()
    assert "They &lt;rise&gt;." in page
    index = (tmp_path / "index.html").read_text()
    assert 'href="squares/figure.html"' in index
    assert 'src="squares/figure.png"' in index


def test_a_setting_that_came_later_counts_as_its_default(tmp_path: Path) -> None:
    task = training_tasks("karate", [0], "mlp", Config(), "mlp")[0]
    path = tmp_path / RECORDS
    StudyFile(path).keep(task, {"test_accuracy": 0.5})
    line = json.loads(path.read_text())
    del line["settings"]["train"]["label_smoothing"]
    path.write_text(json.dumps(line) + "\n")
    assert task.key in StudyFile(path)
    line["settings"]["train"]["label_smoothing"] = 0.1
    path.write_text(json.dumps(line) + "\n")
    assert task.key not in StudyFile(path)


def test_a_training_is_that_of_the_benchmarks() -> None:
    config = Config().replace(**QUICK)
    record = training(training_tasks("karate", [1], "gcn", config, "gcn")[0])
    assert 0 <= record["test_accuracy"] <= 1
    assert record["epochs"] == 5
    bad = training_tasks("karate", [1], "big", config.replace(patch_size=64))[0]
    with pytest.raises(RunError, match="patch_size must be between"):
        training(bad)
