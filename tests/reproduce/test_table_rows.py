"""The rows of the tables: every model once, under the name that it deserves."""

import itertools

import pytest

from herofilter.config import Config, paper_config
from herofilter.nn import list_models
from herofilter.nn.naming import model_title
from herofilter.reproduce.table_graphs import TABLES, GraphPlan
from herofilter.reproduce.table_rows import MORE, ROWS
from herofilter.reproduce.trials import GRID

SMALL = GraphPlan("texas", 183, True, (0,))
LARGE = GraphPlan("pubmed", 19_717, False, (0,))
HERO = [name for name, row in ROWS.items() if "herofilter" in row.model]


def test_titles() -> None:
    assert {name: ROWS[name].title for name in HERO} == {
        "fast-herofilter": "fast-herofilter",
        "herofilter-algorithm-1": "HeroFilter, Algorithm 1 to the letter",
        "herofilter": "HeroFilter",
        "herofilter-directed": "HeroFilter, directed",
    }
    assert all(row.title == name for name, row in ROWS.items() if name not in HERO)


@pytest.mark.parametrize("name", HERO)
def test_no_choice_of_a_search_leaves_the_title(name: str) -> None:
    row = ROWS[name]
    options = row.options or {}
    points = [
        dict(zip(options, point, strict=True)) for point in itertools.product(*options.values())
    ]
    assert len(points) > 1
    for graph, grid, point in itertools.product((SMALL, LARGE), GRID, points):
        settings = {**row.plan(graph).base, **grid, **point}
        assert model_title(row.model, Config().replace(**settings)) == row.title.partition(",")[0]


def test_algorithm_1_is_the_papers_preset() -> None:
    row = ROWS["herofilter-algorithm-1"]
    config = Config().replace(**row.plan(SMALL).base)
    paper = paper_config().replace(patcher="spectral")
    assert config.patcher == paper.patcher
    assert config.model == paper.model
    assert config.train == paper.train
    large = Config().replace(**row.plan(LARGE).base)
    assert large.patcher == paper.replace(num_eigenpairs=500).patcher


def test_rows_with_directions_are_not_ranked() -> None:
    beside = {name for name, row in ROWS.items() if row.needs_directions()}
    assert beside - {"dir-gnn"} == {"herofilter-directed"}
    assert {name for name, row in ROWS.items() if not row.ranked} == beside


def test_every_model_that_exists_has_a_row() -> None:
    # boosted trees are contenders on the user's tables, not in the tables of the paper
    models = {entry.name for entry in list_models() if entry.gradients}
    assert set(ROWS) >= models
    assert set(MORE) & models == set(MORE) & set(ROWS)


def test_the_table_of_newer_graphs() -> None:
    assert TABLES["modern"] == ("chameleon-filtered", "squirrel-filtered", "minesweeper")
