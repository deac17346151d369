"""Every study's quick form: it runs, writes its files and ends in one of the four words."""

import base64
import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from herofilter.data import on_disk
from herofilter.report.studies_report import studies_page
from herofilter.reproduce.studies.registry import STUDIES
from herofilter.reproduce.studies.run import RECORDS, run_studies
from herofilter.reproduce.studies.verdict import WORDS

FILES = ("data.json", "data.csv", "figure.html", "figure.png", "finding.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(params=STUDIES, scope="module")
def result(request: pytest.FixtureRequest, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = run_studies([request.param], folder, quick=True)[request.param]
    return found


def test_files_and_the_last_word(result: dict[str, Any], folder: Path) -> None:
    place = folder / result["study"]
    assert {path.name for path in place.iterdir()} == set(FILES)
    assert json.loads((place / "data.json").read_text()) == json.loads(json.dumps(result))
    assert (place / "figure.png").read_bytes().startswith(b"\x89PNG")
    text = (place / "finding.md").read_text()
    words = text.rsplit("Verdict: **", 1)[1]
    assert words.strip().removesuffix("**") == result["finding"]["word"]
    assert result["finding"]["word"] in WORDS
    assert "quick form" in text
    rows = list(csv.DictReader((place / "data.csv").open()))
    assert len(rows) == len(result["rows"]) > 0


def test_the_page_draws_every_mark_with_the_shared_script(
    result: dict[str, Any], folder: Path
) -> None:
    page = (folder / result["study"] / "figure.html").read_text()
    marks = [mark for panel in result["figure"]["panels"] for mark in panel["marks"]]
    # the bundle with a third axis is three times as large
    is_3d = any(mark["kind"] == "surface" for mark in marks)
    script = "plotly.min.js" if is_3d else "plotly-cartesian.min.js"
    assert f'<script src="../{script}"></script>' in page
    packed = page.split('type="text/plain">', 1)[1].split("<", 1)[0]
    figures = json.loads(gzip.decompress(base64.b64decode(packed)))["figures"].values()
    drawn = [trace for figure in figures for trace in figure["data"]]
    assert len(drawn) == len(marks) > 0
    assert {trace["type"] for trace in drawn} >= ({"surface"} if is_3d else set())
    assert (folder / script).is_file()
    assert not list((folder / result["study"]).glob("*.js"))


def test_all_studies_are_on_one_page(result: dict[str, Any], folder: Path) -> None:
    data = json.loads((folder / result["study"] / "data.json").read_text())
    charts = studies_page([data]).charts
    assert len(charts) == len(result["figure"]["panels"])
    assert all(chart.table.rows for chart in charts)
    page = (folder / "report.html").read_text()
    assert all(f'data-figure="{chart.name}"' in page for chart in charts)
    assert len(page) < 4_000_000


def test_every_study_has_full_tasks_of_the_same_kind() -> None:
    for name, study in STUDIES.items():
        if name == "grid-search" and not on_disk("texas"):
            continue  # its grid depends on the graph's size
        quick = study.tasks(quick=True)
        assert quick, name
        works = {task.work for task in study.tasks(quick=False)}
        # graphs that aren't on disk may leave no full task
        assert not works or {task.work for task in quick} & works, name


def test_the_records_of_the_quick_forms_are_kept(result: dict[str, Any], folder: Path) -> None:
    before = (folder / RECORDS).read_bytes()
    again = run_studies([result["study"]], folder, quick=True)[result["study"]]
    assert (folder / RECORDS).read_bytes() == before
    assert json.dumps(again) == json.dumps(result)
