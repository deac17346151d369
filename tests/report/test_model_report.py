"""Reports of real folders: what train and fit leave behind, rebuilt and compared."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from herofilter.cli import main
from herofilter.report.model_report import report_page, write_report
from herofilter.report.page_parts import Tiles
from herofilter.report.run_subject import read_subject
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.sealed_folder import BESIDE
from tests.user_tables import write_tables


def run(*args: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["herofilter", *args])
        with pytest.raises(SystemExit) as caught:
            main()
    return int(caught.value.code or 0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two runs of two splits, and one of a single other split."""
    folder = tmp_path_factory.mktemp("runs")
    few = ("--set", "epochs=4", "--workers", "1")
    assert run("train", "karate", "--splits", "0,1", "--out", str(folder / "hero"), *few) == 0
    gcn = ("--model", "gcn", "--out", str(folder / "gcn"))
    assert run("train", "karate", "--splits", "0,1", *gcn, *few) == 0
    other = ("--no-report", "--out", str(folder / "other"))
    assert run("train", "karate", "--splits", "2", *other, *few) == 0
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with tables and a model that was fitted on them."""
    folder = tmp_path_factory.mktemp("fitted")
    write_tables(folder)
    tables = ("--edges", str(folder / "edges.csv"), "--nodes", str(folder / "nodes.csv"))
    # its clock starts with the process, which runs other tests before
    few = ("--trials", "1", "--set", "epochs=4", "--budget", "5h")
    assert run("fit", *tables, "--label", "topic", "--out", str(folder / "model"), *few) == 0
    return folder


def test_train_writes_a_report_with_the_numbers_of_its_files(runs: Path) -> None:
    folder = runs / "hero"
    metrics = json.loads((folder / "metrics.json").read_text())
    page = (folder / "report.html").read_text()
    mean = f"{100 * metrics['test_accuracy']['mean']:.1f} %"
    assert f"<strong>{mean}</strong>" in page
    assert "HeroFilter on karate" in page
    card = (folder / "MODEL_CARD.md").read_text()
    assert f"Test accuracy: {mean}" in card
    assert "herofilter train karate --splits 0,1" in card
    made = json.loads((folder / "made.json").read_text())
    assert made["graph"] == "karate"
    assert made["peak_memory"] > 2**20
    assert made["seconds"] > 0


def test_predictions_of_the_page_are_those_of_the_run(runs: Path) -> None:
    metrics = json.loads((runs / "hero" / "metrics.json").read_text())
    for split in (0, 1):
        subject = read_subject(runs / "hero", split)
        right = (subject.predicted == subject.labels)[subject.judged]
        saved = metrics["splits"][str(split)]["test_accuracy"]
        assert float(right.double().mean()) == pytest.approx(saved)
        assert subject.record.split == split
        assert set(subject.record.splits) == {"0", "1"}
    assert subject.classes == ("class 0", "class 1", "class 2", "class 3")


def test_report_rebuilds_the_same_page(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = runs / "hero" / "report.html"
    before = page.read_text()
    page.unlink()
    assert run("report", str(runs / "hero"), "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"report": str(page), "bytes": page.stat().st_size}
    assert page.read_text() == before
    assert run("report", str(runs / "hero"), "--split", "1", "--out", str(runs / "one.html")) == 0
    assert "The charts below show split 1" in (runs / "one.html").read_text()
    assert page.read_text() == before


def test_no_report_writes_none(runs: Path) -> None:
    assert not any((runs / "other" / name).exists() for name in ("report.html", "MODEL_CARD.md"))


def test_fit_writes_a_report_beside_a_model_that_still_loads(model: Path) -> None:
    folder = model / "model"
    assert all((folder / name).is_file() for name in BESIDE)
    SavedModel.load(folder)
    subject = read_subject(folder)
    metrics = json.loads((folder / "metrics.json").read_text())
    kept, models = metrics["kept"], metrics["models"]
    assert subject.model == models[kept]["title"]
    assert len(subject.record.rivals) == len(set(models) - {"majority", kept}) >= 3
    assert {"MLP (no edges)", "GCN"} & {rival.name for rival in subject.record.rivals}
    assert subject.importance[0].column in ("age", "score", "height", "country", "tags")
    page = report_page(subject)
    explained = page.explorer["centres"]["explained"]  # type: ignore[index]
    assert len(explained) > 25
    tile = next(part for part in page.sections[1].parts if isinstance(part, Tiles)).tiles[0]
    accuracy = models[kept]["test"]["accuracy"]
    assert tile.value == f"{100 * accuracy:.1f} %"


def test_a_new_model_takes_the_place_of_the_old_report(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model / "model", tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    SavedModel.load(tmp_path / "model").save(tmp_path / "model")
    left = {path.name for path in (tmp_path / "model").iterdir()}
    assert not left & set(BESIDE)
    assert "notes.txt" in left
    # nothing is known then of how it was made
    write_report(tmp_path / "model")
    assert "wasn&#39;t recorded" in (tmp_path / "model" / "report.html").read_text()


@pytest.mark.part("tables")
def test_train_puts_other_models_beside_its_own(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "hero"
    shutil.copytree(runs / "hero", folder)
    assert "--compare booster,mlp,gcn" in (folder / "report.html").read_text()
    before = (folder / "metrics.json").read_bytes()
    command = ("train", "karate", "--splits", "0,1", "--out", str(folder), "--set", "epochs=4")
    assert run(*command, "--workers", "1", "--compare", "mlp, booster") == 0
    assert "HeroFilter is above by" in capsys.readouterr().out
    # the run itself was finished
    assert (folder / "metrics.json").read_bytes() == before
    own = json.loads(before)["splits"]
    rivals = {rival.name: rival for rival in read_subject(folder).record.rivals}
    assert set(rivals) == {"MLP (no edges)", "booster (no edges)"}
    theirs = json.loads((folder / "compared" / "mlp" / "metrics.json").read_text())["splits"]
    behind = [own[s]["test_accuracy"] - theirs[s]["test_accuracy"] for s in ("0", "1")]
    assert list(rivals["MLP (no edges)"].behind) == pytest.approx(behind)
    page = (folder / "report.html").read_text()
    assert "points that HeroFilter is above" in page
    assert "--compare booster,mlp,gcn" not in page


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("mpl", "did you mean 'mlp'?"),
        ("gcn,gcn", "compare must name models other than herofilter, each once (got gcn,gcn)"),
        ("herofilter", "compare must name models other than herofilter, each once"),
    ],
)
def test_what_compare_names_is_checked_first(
    names: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("train", "karate", "--out", str(tmp_path / "run"), "--compare", names) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_several_runs_are_compared_in_pairs(runs: Path) -> None:
    page = runs / "comparison.html"
    assert run("report", str(runs / "hero"), str(runs / "gcn"), "--out", str(page)) == 0
    text = page.read_text()
    first, second = (
        json.loads((runs / name / "metrics.json").read_text())["splits"] for name in ("hero", "gcn")
    )
    both = [second[s]["test_accuracy"] - first[s]["test_accuracy"] for s in ("0", "1")]
    assert f"{100 * sum(both) / 2:+.1f}" in text
    assert "In pairs with hero" in text
    alone = runs / "apart.html"
    assert run("report", str(runs / "hero"), str(runs / "other"), "--out", str(alone)) == 0
    assert "other has no split in common with hero" in alone.read_text()


@pytest.mark.parametrize(
    ("folders", "text"),
    [
        (["absent"], "absent must be a model folder"),
        (["hero", "hero"], "runs must be different folders to be compared (got one twice)"),
        (["hero", "absent"], "absent must be a model folder"),
        (["hero", "--split", "7"], "the split must be one that"),
    ],
)
def test_mistakes_are_one_sentence(
    runs: Path, folders: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(runs / name) if name.isalpha() else name for name in folders]
    assert run("report", *paths, "--out", str(runs / "never.html")) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
    assert not (runs / "never.html").exists()


def test_a_report_that_fails_keeps_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("herofilter.report.model_report.write_report", fail)
    out = tmp_path / "run"
    assert run("train", "karate", "--set", "epochs=2", "--out", str(out), "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["report"] == ""
    assert "the report couldn't be written (no space left)" in captured.err
    assert (out / "split-0" / "model.json").is_file()
