"""Finished trainings survive whatever happens to the process."""

import json
import warnings
from pathlib import Path

import pytest

from herofilter.errors import RunError
from herofilter.reproduce.result_file import Key, ResultFile, config_hash
from herofilter.training.artifacts.result_store import DamagedLineWarning

SETTINGS = {"lr": 0.01, "dropout": 0.5}
KEY = Key("texas", "v", "gcn", config_hash("gcn", SETTINGS), 0, 3, "final")


def test_rows_come_back_with_all_that_they_stood_on(tmp_path: Path) -> None:
    path = tmp_path / "a" / "trainings.jsonl"
    ResultFile(path).keep(KEY, SETTINGS, {"test_accuracy": 0.5})
    row = ResultFile(path).records[KEY]
    assert row["settings"] == SETTINGS
    assert row["test_accuracy"] == 0.5
    assert (row["seed"], row["split"], row["stage"]) == (0, 3, "final")
    assert {"python", "torch", "torch_geometric", "herofilter"} <= set(row["versions"])


def test_lines_are_only_ever_added(tmp_path: Path) -> None:
    path = tmp_path / "trainings.jsonl"
    file = ResultFile(path)
    file.keep(KEY, SETTINGS, {"test_accuracy": 0.5})
    before = path.read_bytes()
    file.keep(KEY, SETTINGS, {"test_accuracy": 0.6})
    assert path.read_bytes().startswith(before)
    assert len(path.read_text().splitlines()) == 2
    assert ResultFile(path).records[KEY]["test_accuracy"] == 0.6


def test_half_a_line_is_passed_over_and_never_joined(tmp_path: Path) -> None:
    path = tmp_path / "trainings.jsonl"
    ResultFile(path).keep(KEY, SETTINGS, {"test_accuracy": 0.5})
    line = path.read_text()
    path.write_text(line + line[:40])
    file = ResultFile(path)
    assert list(file.records) == [KEY]
    other = Key(**{**vars(KEY), "split": 4})
    file.keep(other, SETTINGS, {"test_accuracy": 0.7})
    with pytest.warns(DamagedLineWarning, match="line 2 of .* can't be read; its training runs"):
        assert set(ResultFile(path).records) == {KEY, other}


def test_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trainings.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunError, match="must be a readable file of finished trainings"):
        ResultFile(path)


def test_the_published_trainings_are_read() -> None:
    path = Path(__file__).parents[2] / "results" / "tables" / "trainings.jsonl"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        records = ResultFile(path).records
    assert len(records) == len(path.read_text().splitlines())
    for key, record in records.items():
        assert key.config == config_hash(key.model, record["settings"])


def test_the_hash_is_of_model_and_settings() -> None:
    turned = dict(reversed(SETTINGS.items()))
    assert config_hash("gcn", SETTINGS) == config_hash("gcn", turned)
    others = [("gat", SETTINGS), ("gcn", {**SETTINGS, "lr": 0.02}), ("gcn", {"lr": 0.01})]
    assert len({config_hash("gcn", SETTINGS), *(config_hash(*other) for other in others)}) == 4
    assert json.loads(json.dumps(vars(KEY)))["config"] == KEY.config
