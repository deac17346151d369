"""The command line as a user meets it: output, exit code, and one sentence per mistake."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import rich.progress
import yaml

from herofilter.cli import main
from herofilter.config import Config, paper_config
from herofilter.data.graph_cache import graph_path
from herofilter.experiments import demo
from tests.data.raw_files import write_npz

QUICK = ("--set", "patch_size=4", "--set", "hidden_channels=8", "--set", "epochs=3")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        return json.loads(self.out)

    def error(self) -> str:
        """Return the sentence after ``error:``; there must be nothing else."""
        assert (self.code, self.out) == (2, "")
        assert self.err.startswith("error: ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1
        return self.err.removeprefix("error: ").removesuffix("\n")


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    def refuse(*args: object, **kwargs: object) -> None:
        raise urllib.error.URLError("no route to host")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HEROFILTER_DATA", raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)

    def run(*args: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["herofilter", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        return Outcome(int(caught.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def mine(cli: Cli, tmp_path: Path) -> str:
    """Thirty nodes, three classes, ten splits, in a file of the user's own."""
    write_npz(tmp_path / "mine.npz")
    return "mine.npz"


# list and info


def test_list(cli: Cli) -> None:
    outcome = cli("list")
    assert (outcome.code, outcome.err) == (0, "")
    for name in ("texas", "karate", "roman-empire", "herofilter", "mlp"):
        assert f" {name} " in outcome.out


def test_list_json(cli: Cli) -> None:
    found = cli("list", "--json").json()
    datasets = {entry["name"]: entry for entry in found["datasets"]}
    assert datasets["karate"]["on_disk"]
    assert not datasets["texas"]["on_disk"]
    assert datasets["texas"]["splits"] == 10
    assert {"gcn", "mlp", "herofilter"} <= {entry["name"] for entry in found["models"]}


def test_info(cli: Cli, mine: str) -> None:
    outcome = cli("info", mine)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Data card: mine.npz" in outcome.out
    assert "num nodes" in outcome.out
    card = cli("info", mine, "--json").json()
    assert (card["num_nodes"], card["num_classes"], card["num_edges"]) == (30, 3, 120)
    assert card["splits"] == {"count": 10, "train": 10, "val": 10, "test": 10}


# train


def test_train(cli: Cli, mine: str, tmp_path: Path) -> None:
    outcome = cli("train", mine, *QUICK, "--splits", "0,2", "--out", "run")
    assert outcome.code == 0
    # no progress bar when the error stream isn't a terminal
    assert outcome.err == ""
    assert "herofilter on mine" in outcome.out
    assert "over 2 splits" in outcome.out
    assert "written to run" in outcome.out
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "config.yaml",
        "environment.json",
        "history.json",
        "metrics.json",
        "weights.safetensors",
    }
    saved = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    expected = Config().replace(patch_size=4, hidden_channels=8, epochs=3)
    assert Config.from_dict(saved["config"]) == expected


def test_train_json(cli: Cli, mine: str, tmp_path: Path) -> None:
    found = cli("train", mine, *QUICK, "--splits", "all", "--model", "mlp", "--json").json()
    assert (found["graph"], found["model"], found["splits"]) == ("mine", "mlp", list(range(10)))
    for key in ("test_accuracy", "val_accuracy"):
        assert set(found[key]) == {"mean", "std", "values"}
        assert found[key]["mean"] == pytest.approx(np.mean(found[key]["values"]))
        assert found[key]["std"] == pytest.approx(np.std(found[key]["values"], ddof=1))
    assert found["seconds"] > 0
    assert found["config"]["train"]["epochs"] == 3
    metrics = json.loads((tmp_path / found["out"] / "metrics.json").read_text())
    assert metrics["test_accuracy"] == found["test_accuracy"]
    assert found["out"].startswith("runs/mine-mlp-")


def test_options_reach_the_configuration(cli: Cli, mine: str) -> None:
    options = ("--patcher", "fast", "--seed", "7", "--set", "train.lr=0.5", "--out", "a", "--json")
    config = Config.from_dict(cli("train", mine, *QUICK, *options).json()["config"])
    assert (config.patcher.patcher, config.train.seed, config.train.lr) == ("fast", 7, 0.5)
    paper = cli("train", mine, *QUICK, "--preset", "paper", "--out", "b", "--json").json()["config"]
    changed = paper_config().replace(patch_size=4, hidden_channels=8, epochs=3)
    assert Config.from_dict(paper) == changed


def test_repeats_print_the_same_numbers(cli: Cli, mine: str) -> None:
    found = [
        cli("train", mine, *QUICK, "--splits", "0,1", "--out", out, "--json").json()
        for out in ("a", "b")
    ]
    assert found[0]["test_accuracy"] == found[1]["test_accuracy"]


def test_two_runs_in_one_second_have_two_folders(
    cli: Cli, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.strftime", lambda layout: "20250101-120000")
    found = [cli("train", mine, *QUICK, "--seed", seed, "--json").json() for seed in "01"]
    assert found[0]["out"] != found[1]["out"]


def test_a_finished_run_is_shown_again(cli: Cli, mine: str, tmp_path: Path) -> None:
    first = cli("train", mine, *QUICK, "--out", "run", "--json").json()
    weights = (tmp_path / "run" / "weights.safetensors").read_bytes()
    again = cli("train", mine, *QUICK, "--out", "run", "--json").json()
    assert again["test_accuracy"] == first["test_accuracy"]
    assert (tmp_path / "run" / "weights.safetensors").read_bytes() == weights


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C in the first epoch of split 1."""
    update = rich.progress.Progress.update

    def press(self: rich.progress.Progress, *args: Any, **values: Any) -> None:
        if values["description"].startswith("split 1:"):
            raise KeyboardInterrupt
        update(self, *args, **values)

    monkeypatch.setattr(rich.progress.Progress, "update", press)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_finished_splits(cli: Cli, mine: str, tmp_path: Path) -> None:
    outcome = cli("train", mine, *QUICK, "--splits", "0,1,2", "--out", "run", "--json")
    assert outcome.code == 130
    assert "Traceback" not in outcome.err
    assert json.loads(outcome.out)["interrupted"] is True
    kept = json.loads((tmp_path / "run" / "metrics.json").read_text())["splits"]
    assert list(kept) == ["0"]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_says_that_finished_splits_are_kept(cli: Cli, mine: str) -> None:
    outcome = cli("train", mine, *QUICK, "--splits", "0,1", "--out", "run")
    assert outcome.err == "stopped; what was finished is kept\n"


# demo


RUN_DEMO = demo.run_demo


def tiny_demo(**options: Any) -> dict[str, Any]:
    # other processes wouldn't know of the quick settings
    options["workers"] = 1
    return RUN_DEMO(levels=(0.1, 0.9), num_nodes=80, num_splits=2, **options)


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Config().replace(patch_size=4, hidden_channels=8, epochs=3)
    monkeypatch.setattr(demo, "demo_config", lambda seed: quick.replace(seed=seed))
    monkeypatch.setattr(demo, "run_demo", tiny_demo)


@pytest.mark.usefixtures("_tiny")
def test_demo(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("demo")
    assert (outcome.code, outcome.err) == (0, "")
    assert "of 2 levels" in outcome.out
    result = json.loads((tmp_path / "runs/demo/demo.json").read_text())
    for level in result["levels"]:
        assert f"{100 * level['accuracy']['herofilter']['mean']:.1f} ±" in outcome.out
    held = sum(level["holds"] for level in result["levels"])
    assert f"at {held} of 2 levels" in outcome.out
    assert (tmp_path / "runs/demo/demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("_tiny")
def test_demo_json(cli: Cli, tmp_path: Path) -> None:
    found = cli("demo", "--out", "here", "--seed", "3", "--json").json()
    assert found == json.loads((tmp_path / "here/demo.json").read_text())
    assert found["config"]["train"]["seed"] == 3
    assert [level["heterophily"] for level in found["levels"]] == [0.1, 0.9]


# help


@pytest.mark.parametrize("command", ["list", "info", "train", "demo"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_an_example(cli: Cli, command: str, option: str) -> None:
    outcome = cli(command, option)
    assert outcome.code == 0
    assert f"Example: herofilter {command}" in outcome.out


@pytest.mark.parametrize("args", [["list", "--json"], ["info", "karate"]])
def test_examples_of_the_help_work(cli: Cli, args: list[str]) -> None:
    assert f"Example: herofilter {' '.join(args)}" in cli(args[0], "--help").out
    assert cli(*args).code == 0


# mistakes


@pytest.mark.parametrize("command", ["info", "train"])
def test_unknown_dataset(cli: Cli, command: str) -> None:
    assert cli(command, "texsa").error().endswith("(got 'texsa') (did you mean 'texas'?)")


@pytest.mark.parametrize("command", ["info", "train"])
def test_missing_file(cli: Cli, command: str) -> None:
    assert cli(command, "none.npz").error() == "none.npz must be an existing file; check the path"


@pytest.mark.parametrize("size", [0, 10, 700])
def test_truncated_file(cli: Cli, mine: str, size: int) -> None:
    Path(mine).write_bytes(Path(mine).read_bytes()[:size])
    text = cli("train", mine, *QUICK).error()
    assert text.startswith("mine.npz must be a readable file in numpy's npz layout (")
    assert not Path("runs").exists()


def test_nan_in_features(cli: Cli) -> None:
    x = np.ones((30, 4), dtype=np.float32)
    x[3, 2] = np.nan
    write_npz(Path("broken.npz"), node_features=x)
    for command in ("info", "train"):
        assert cli(command, "broken.npz").error() == (
            "x must be finite (got 1 values that are NaN or infinite); "
            "replace them, for instance with torch.nan_to_num(x)"
        )


@pytest.mark.parametrize("patcher", ["spectral", "fast"])
def test_patch_above_the_graph(cli: Cli, mine: str, patcher: str) -> None:
    text = cli("train", mine, "--patcher", patcher, "--set", "patch_size=64").error()
    assert text == (
        "patch_size must be between 1 and the number of nodes (got 64; the graph has 30 nodes)"
    )


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--set", "patchsize=8"], "there is no setting 'patchsize' (did you mean 'patch_size'?)"),
        (["--set", "lr"], "a setting must look like key=value (got 'lr')"),
        (["--set", "lr=fast"], "lr must be of type float (got 'fast')"),
        (["--set", "epochs=0"], "epochs must be at least 1 (got 0)"),
        (["--splits", "a,b"], "splits must be all or numbers such as 0,1,2 (got 'a,b')"),
        (["--splits", ""], "splits must be all or numbers such as 0,1,2 (got '')"),
        (
            ["--splits", "0,10"],
            "a split must be between 0 and 9 (got 10); the graph has 10 splits",
        ),
        (
            ["--splits=-1"],
            "a split must be between 0 and 9 (got -1); the graph has 10 splits",
        ),
        (["--preset", "papr"], "preset must be one of default, paper (got 'papr')"),
        (["--patcher", "fsat"], "patcher must be one of auto, spectral, fast (got 'fsat')"),
        (["--seed", "-3"], "seed must be at least 0 (got -3)"),
    ],
)
def test_bad_options(cli: Cli, mine: str, args: list[str], text: str) -> None:
    assert cli("train", mine, *args).error().startswith(text)
    assert not Path("runs").exists()


@pytest.mark.parametrize("setting", ["lr=[", "filter_starts=5", "filter_starts=null", "lr=nan"])
def test_odd_settings(cli: Cli, mine: str, setting: str) -> None:
    assert setting.partition("=")[0] in cli("train", mine, *QUICK, "--set", setting).error()


def test_named_split_of_a_file(cli: Cli, mine: str) -> None:
    assert "splits" in cli("train", mine, *QUICK, "--splits", "public").error()


def test_unknown_model(cli: Cli, mine: str) -> None:
    text = cli("train", mine, "--model", "herofiltr").error()
    assert text.endswith("(got 'herofiltr') (did you mean 'herofilter'?)")


def test_folder_of_another_run(cli: Cli, mine: str) -> None:
    assert cli("train", mine, *QUICK, "--out", "run").code == 0
    text = cli("train", mine, *QUICK, "--seed", "1", "--out", "run").error()
    assert text == (
        "run must hold the same run to be continued, but its configuration differs; "
        "give another --out"
    )
    Path("full").mkdir()
    Path("full/letter.txt").touch()
    text = cli("train", mine, *QUICK, "--out", "full").error()
    assert text.startswith("the run folder must be new, empty or a run to continue (got full)")


@pytest.mark.parametrize("command", ["info", "train"])
def test_offline_dataset(cli: Cli, tmp_path: Path, command: str) -> None:
    text = cli(command, "minesweeper").error()
    assert text.startswith("the files of 'minesweeper' must be on disk (the download failed: ")
    assert "no route to host" in text
    assert "set the environment variable HEROFILTER_DATA to it" in text
    assert text.endswith(f"or into {tmp_path / 'cache' / 'raw'}")


@pytest.mark.parametrize("args", [["train"], ["dance"], ["info", "karate", "--speed"]])
def test_wrong_usage(cli: Cli, args: list[str]) -> None:
    outcome = cli(*args)
    assert outcome.code == 2
    assert "Usage: " in outcome.err
    assert "Traceback" not in outcome.err


# warnings


def test_a_damaged_graph_in_the_cache_is_a_warning(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_npz(tmp_path / "data/tolokers/raw/tolokers.npz")
    monkeypatch.setenv("HEROFILTER_DATA", str(tmp_path / "data"))
    assert cli("info", "tolokers").err == ""
    path = graph_path("tolokers")
    path.write_bytes(path.read_bytes()[:100])
    outcome = cli("info", "tolokers", "--json")
    assert outcome.json()["num_nodes"] == 30
    assert outcome.err == (
        f"warning: the cached graph {path} was damaged and is made anew from the raw files\n"
    )
    assert cli("info", "tolokers").err == ""


def test_damaged_eigenvectors_in_the_cache_are_a_warning(
    cli: Cli, mine: str, tmp_path: Path
) -> None:
    first = cli("train", mine, *QUICK, "--out", "a", "--json").json()
    (path,) = (tmp_path / "cache" / "eigen").iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    outcome = cli("train", mine, *QUICK, "--out", "b", "--json")
    assert outcome.json()["test_accuracy"] == first["test_accuracy"]
    assert outcome.err == (
        f"warning: the cached eigen-decomposition {path} is damaged; making it anew\n"
    )


# as a process of its own


def test_as_a_process(tmp_path: Path) -> None:
    write_npz(tmp_path / "mine.npz")
    environment = {**os.environ, "HEROFILTER_CACHE": str(tmp_path / "cache")}
    environment.pop("HEROFILTER_DATA", None)

    def run(*args: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "herofilter.cli", *args],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    outcome = run("train", "mine.npz", *QUICK, "--json")
    assert outcome.json()["splits"] == [0]
    assert outcome.err == ""
    assert run("info", "mine.npzz").error().startswith("the dataset must be one of")
