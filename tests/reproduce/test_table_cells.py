"""A cell of a table: what is trained next, who chooses, and that test scores never do."""

from pathlib import Path
from typing import Any

import pytest

from herofilter import settings as all_settings
from herofilter.reproduce.result_file import ResultFile
from herofilter.reproduce.table_cells import Search, TableCell
from herofilter.reproduce.table_graphs import GraphPlan
from herofilter.reproduce.table_rows import ROWS, Row

SMALL = GraphPlan("karate", 34, False, (0, 1, 2))
LARGE = GraphPlan("karate", 3001, False, (0, 1, 2))


class Sealed(dict[str, Any]):
    """A training's record that nobody may ask for its test scores."""

    def _check(self, key: object) -> None:
        assert not str(key).startswith("test_"), f"{key} was read"

    def __getitem__(self, key: str) -> Any:
        self._check(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._check(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._check(key)
        return super().__contains__(key)


def cell(tmp_path: Path, graph: GraphPlan, trials: int = 3, row: str = "gcn") -> TableCell:
    return TableCell(ROWS[row], graph, trials, ResultFile(tmp_path / "trainings.jsonl"))


def keep(search: Search, val: float, test: float = 0.0, metric: str = "accuracy") -> None:
    """Finish what is due of a search, with these scores."""
    for job, key, settings in search.due():
        scores = {f"val_{metric}": val, **({f"test_{metric}": test} if job.score_test else {})}
        search.file.keep(key, settings, {"val_accuracy": -1.0, **scores, "seconds": 1.0})


@pytest.mark.parametrize("graph", [SMALL, LARGE], ids=["nested", "shared"])
def test_the_choice_reads_no_test_score(tmp_path: Path, graph: GraphPlan) -> None:
    searches = cell(tmp_path, graph, trials=6).searches
    for search in searches:
        for val, test in ((0.5, 0.9), (0.8, 0.1), (0.6, 1.0), (0.7, 1.0), (0.1, 1.0), (0.2, 1.0)):
            keep(search, val, test)
        records = search.file.records
        search.file.records = {key: Sealed(record) for key, record in records.items()}
        assert [score for _, score in search.searched()] == [0.5, 0.8, 0.6, 0.7, 0.1, 0.2]
        chosen = search.chosen(6)
        assert chosen == search.searched()[1]
        search.due()
        search.count()
        search.file.records = records


def test_a_nested_choice_sees_its_own_split_only(tmp_path: Path) -> None:
    first, second, _ = cell(tmp_path, SMALL, trials=6).searches
    assert [search.splits for search in (first, second)] == [(0,), (1,)]
    for val in (0.5, 0.6, 0.7, 0.8, 0.9, 0.4):
        keep(first, val)
    assert second.searched() == []
    before = [settings for settings, _ in first.searched()]
    for val in (0.9, 0.1, 0.2, 0.3, 0.4, 0.5):
        keep(second, val)
    assert [settings for settings, _ in first.searched()] == before
    assert first.chosen(6) != second.chosen(6)
    assert {key.split for key in first.file.records} == {0, 1}
    # the same grid for all, then proposals of the split's own sampler
    assert before[:4] == [settings for settings, _ in second.searched()[:4]]
    assert before[4:] != [settings for settings, _ in second.searched()[4:]]


def test_a_nested_trial_is_trained_once(tmp_path: Path) -> None:
    search = cell(tmp_path, SMALL, trials=2).searches[0]
    ((job, key, _),) = search.due()
    assert job.score_test
    assert (key.stage, key.split) == ("nested", 0)
    keep(search, 0.5, 0.25)
    assert search.count() == (1, 2)
    keep(search, 0.4, 0.75)
    assert search.count() == (2, 2)
    assert search.due() == []
    assert search.result(2)[0]["test_accuracy"] == 0.25


def test_a_shared_search_scores_the_test_nodes_at_the_end(tmp_path: Path) -> None:
    (search,) = cell(tmp_path, LARGE, trials=2).searches
    assert (search.search_splits, search.splits) == ((0, 1), (0, 1, 2))
    for _ in range(2):
        assert [job.score_test for job, _, _ in search.due()] == [False, False]
        keep(search, 0.5)
    # the earlier of equals
    choice = search.chosen(2)
    assert choice is not None
    assert choice[0]["weight_decay"] == 5e-4
    assert [(job.split, job.score_test) for job, _, _ in search.due()] == [
        (0, True),
        (1, True),
        (2, True),
    ]
    assert search.count() == (4, 7)
    keep(search, 0.5, 0.75)
    assert search.count() == (7, 7)


def test_all_splits_of_a_part_have_the_same_number_of_trials(tmp_path: Path) -> None:
    made = cell(tmp_path, SMALL, trials=4)
    for search, count in zip(made.searches, (4, 2, 2), strict=True):
        for _ in range(count):
            keep(search, 0.5, 0.5)
    # three splits of two trials are more trainings than one of four
    assert made.usable_trials() == 2
    assert list(made.result(2)) == [0, 1, 2]
    for _ in range(2):
        keep(made.searches[1], 0.5, 0.5)
    assert made.usable_trials() == 4
    assert list(made.result(4)) == [0, 1]


def test_lines_of_the_other_protocol_are_passed_over(tmp_path: Path) -> None:
    file = ResultFile(tmp_path / "trainings.jsonl")
    nested, shared = (TableCell(ROWS["gcn"], graph, 3, file) for graph in (SMALL, LARGE))
    for _ in range(4):
        keep(shared.searches[0], 0.5, 0.5)
    assert shared.searches[0].count() == (9, 9)
    assert [search.count() for search in nested.searches] == [(0, 3)] * 3


def test_a_graph_is_judged_by_its_own_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_settings, "MONITORS", ("accuracy", "loss", "auc"))
    graph = GraphPlan("minesweeper", 10_000, False, (0,))
    assert (graph.metric, SMALL.metric) == ("auc", "accuracy")
    (search,) = cell(tmp_path, graph, trials=2).searches
    assert {job.config.train.monitor for job, _, _ in search.due()} == {"auc"}
    keep(search, 0.5, metric="auc")
    keep(search, 0.75, metric="auc")
    assert [score for _, score in search.searched()] == [0.5, 0.75]
    keep(search, 0.75, 0.625, metric="auc")
    assert search.result(2)[0]["test_auc"] == 0.625


def test_a_changed_default_is_another_herofilter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keys() -> list[str]:
        rows = (Row("gcn", "gcn"), ROWS["herofilter"])
        cells = [TableCell(row, SMALL, 1, ResultFile(tmp_path / "none.jsonl")) for row in rows]
        return [made.searches[0].due()[0][1].config for made in cells]

    gcn, hero = keys()
    monkeypatch.setattr(all_settings.PatcherConfig.__init__, "__defaults__", _other_defaults())
    assert keys()[0] == gcn
    assert keys()[1] != hero


def _other_defaults() -> tuple[Any, ...]:
    values = all_settings.PatcherConfig.__init__.__defaults__ or ()
    return tuple(7 if value == 10 and isinstance(value, int) else value for value in values)
