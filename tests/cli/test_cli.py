"""The command line: output, exit code, and one sentence per mistake."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import requests
import rich.progress
import yaml

import herofilter
from herofilter.cli import main
from herofilter.config import Config, paper_config
from herofilter.data import load_dataset
from herofilter.data.datasets.graph_cache import graph_path
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.report import canvas
from herofilter.reproduce import accuracy, demo, filters
from herofilter.reproduce.filter_graphs import StudyGraph
from tests.data.raw_files import write_npz

QUICK = ("--set", "patch_size=4", "--set", "hidden_channels=8", "--set", "epochs=3")
# where a test isn't about the report
PLAIN = (*QUICK, "--no-report")


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
        raise requests.ConnectionError("no route to host")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HEROFILTER_DATA", raising=False)
    monkeypatch.setattr(requests, "get", refuse)
    monkeypatch.setattr("herofilter.data.datasets.storage.RETRIES", 0)

    def run(*args: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["herofilter", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        return Outcome(int(caught.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def mine(cli: Cli, tmp_path: Path) -> str:
    """Thirty nodes, three classes, ten splits, in a file of the user's."""
    write_npz(tmp_path / "mine.npz")
    return "mine.npz"


# list and info


def test_list(cli: Cli) -> None:
    outcome = cli("list")
    assert (outcome.code, outcome.err) == (0, "")
    for name in ("texas", "karate", "roman-empire"):
        assert f" {name} " in outcome.out
    for name in ("herofilter", "mlp"):
        assert f"\n{name} " in outcome.out


def test_list_of_one_kind(cli: Cli) -> None:
    models, datasets = cli("list", "--models").out, cli("list", "--datasets").out
    assert "\nherofilter " in models
    assert "texas" not in models
    assert " texas " in datasets
    assert "herofilter" not in datasets
    assert cli("list", "--datasets", "--models").out == cli("list").out == datasets + models
    assert set(cli("list", "--models", "--json").json()) == {"models"}
    assert set(cli("list", "--datasets", "--json").json()) == {"datasets"}


def test_list_json(cli: Cli) -> None:
    found = cli("list", "--json").json()
    datasets = {entry["name"]: entry for entry in found["datasets"]}
    assert datasets["karate"]["on_disk"]
    assert not datasets["texas"]["on_disk"]
    assert datasets["texas"]["splits"] == 10
    models = {entry["name"]: entry for entry in found["models"]}
    assert {"gcn", "mlp", "herofilter"} <= set(models)
    for entry in herofilter.list_models():
        told = models[entry.name]
        assert {key: tuple(values) for key, values in told.pop("options").items()} == entry.options
        assert told == {key: getattr(entry, key) for key in told}
        assert set(told) == {"name", "paper", "needs", "scales", "batches", "directed"}


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
    # patches of four nodes, so it isn't called HeroFilter
    assert "summary-mixer on mine" in outcome.out
    assert "over 2 splits" in outcome.out
    assert "written to run" in outcome.out
    assert "report: run/report.html" in outcome.out
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "MODEL_CARD.md",
        "config.yaml",
        "environment.json",
        "made.json",
        "metrics.json",
        "report.html",
        "split-0",
        "split-2",
    }
    saved = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    expected = Config().replace(patch_size=4, hidden_channels=8, epochs=3)
    # what is left to the graph is settled
    resolved = resolve_defaults(load_dataset(mine, split=None), expected)
    assert Config.from_dict(saved["config"]) == resolved != expected


def test_train_json(cli: Cli, mine: str, tmp_path: Path) -> None:
    found = cli("train", mine, *PLAIN, "--splits", "all", "--model", "mlp", "--json").json()
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
    config = Config.from_dict(cli("train", mine, *PLAIN, *options).json()["config"])
    assert (config.patcher.patcher, config.train.seed, config.train.lr) == ("fast", 7, 0.5)
    paper = cli("train", mine, *PLAIN, "--preset", "paper", "--out", "b", "--json").json()["config"]
    changed = paper_config().replace(patch_size=4, hidden_channels=8, epochs=3)
    assert Config.from_dict(paper) == changed


def test_repeats_print_the_same_results(cli: Cli, mine: str) -> None:
    found = [
        cli("train", mine, *PLAIN, "--splits", "0,1", "--out", out, "--json").json()
        for out in ("a", "b")
    ]
    assert found[0]["test_accuracy"] == found[1]["test_accuracy"]


def test_two_runs_in_one_second_have_two_folders(
    cli: Cli, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.strftime", lambda layout: "20250101-120000")
    found = [cli("train", mine, *PLAIN, "--seed", seed, "--json").json() for seed in "01"]
    assert found[0]["out"] != found[1]["out"]


def test_a_finished_run_is_shown_again(cli: Cli, mine: str, tmp_path: Path) -> None:
    first = cli("train", mine, *PLAIN, "--out", "run", "--json").json()
    weights = (tmp_path / "run" / "split-0" / "weights.safetensors").read_bytes()
    again = cli("train", mine, *PLAIN, "--out", "run", "--json").json()
    assert again["test_accuracy"] == first["test_accuracy"]
    assert (tmp_path / "run" / "split-0" / "weights.safetensors").read_bytes() == weights


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
    outcome = cli("train", mine, *PLAIN, "--splits", "0,1,2", "--out", "run", "--json")
    assert outcome.code == 130
    assert "Traceback" not in outcome.err
    assert json.loads(outcome.out)["interrupted"] is True
    kept = json.loads((tmp_path / "run" / "metrics.json").read_text())["splits"]
    assert list(kept) == ["0"]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_says_that_finished_splits_are_kept(cli: Cli, mine: str) -> None:
    outcome = cli("train", mine, *PLAIN, "--splits", "0,1", "--out", "run")
    assert outcome.err == "stopped; the same command goes on with what is finished\n"


# auto


MEMBERS = [
    "balanced",
    "features",
    "homophilic",
    "summaries",
    "smooth",
    "heterophilic",
    "high",
]


def test_train_auto(cli: Cli, mine: str, tmp_path: Path) -> None:
    options = ("--model", "auto", *PLAIN, "--splits", "0,2", "--out", "run")
    found = cli("train", mine, *options, "--json").json()
    assert (found["graph"], found["model"], found["splits"]) == ("mine", "auto", [0, 2])
    assert [member["name"] for member in found["members"]] == MEMBERS
    assert set(found["picked"]) == {"0", "2"}
    assert set(found["picked"].values()) <= set(MEMBERS)
    assert "ensemble" not in found
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["test_accuracy"] == found["test_accuracy"]
    # a finished run is shown again
    outcome = cli("train", mine, *options)
    assert (outcome.code, outcome.err) == (0, "")
    assert "auto on mine" in outcome.out
    mean, std = (100 * found["test_accuracy"][key] for key in ("mean", "std"))
    assert f"test accuracy {mean:.1f} ± {std:.1f} % over 2 splits" in outcome.out
    assert "ensemble" not in outcome.out


def test_train_an_ensemble(cli: Cli, mine: str) -> None:
    # averaging is only for auto, so the model needn't be named
    options = ("--ensemble", *PLAIN, "--out", "run")
    found = cli("train", mine, *options, "--json").json()
    assert found["model"] == "auto"
    assert set(found["ensemble"]["members"]["0"]) <= set(MEMBERS)
    outcome = cli("train", mine, *options)
    apart, single = (
        f"test accuracy {100 * entry['test_accuracy']['mean']:.1f} ± 0.0 %"
        for entry in (found["ensemble"], found)
    )
    assert f"ensemble, apart: {apart}\n" in outcome.out
    assert f"\n{single} over 1 split in " in outcome.out


@pytest.mark.parametrize(
    ("args", "model"),
    [
        ([], "auto"),
        (["--seed", "3"], "auto"),
        (["--model", "herofilter"], "herofilter"),
        (["--preset", "default"], "herofilter"),
        (["--patcher", "fast"], "herofilter"),
        (["--set", "lr=0.02"], "herofilter"),
    ],
)
def test_the_users_graph_is_trained_by_auto(
    cli: Cli, mine: str, monkeypatch: pytest.MonkeyPatch, args: list[str], model: str
) -> None:
    def quick(train: Callable[..., Any], index: int) -> Callable[..., Any]:
        def run(*given: Any, **more: Any) -> Any:
            config = given[index].replace(patch_size=4, epochs=1)
            return train(*given[:index], config, *given[index + 1 :], **more)

        return run

    monkeypatch.setattr(herofilter, "train_auto", quick(herofilter.train_auto, 1))
    monkeypatch.setattr(herofilter, "train_splits", quick(herofilter.train_splits, 2))
    found = cli("train", mine, *args, "--json").json()
    assert found["model"] == model
    assert found["out"].startswith(f"runs/mine-{model}-")
    # a named dataset has published results, and these are of one model
    assert cli("train", "karate", "--json").json()["model"] == "herofilter"


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_finished_splits_of_auto(cli: Cli, mine: str, tmp_path: Path) -> None:
    options = ("--model", "auto", *PLAIN, "--splits", "0,1", "--out", "run", "--json")
    outcome = cli("train", mine, *options)
    assert outcome.code == 130
    assert json.loads(outcome.out)["interrupted"] is True
    kept = json.loads((tmp_path / "run" / "metrics.json").read_text())["splits"]
    assert list(kept) == ["0"]


# workers


def test_workers_change_no_result(cli: Cli, mine: str) -> None:
    found = [
        cli(
            *("train", mine, *PLAIN, "--model", "mlp", "--splits", "0,1"),
            *("--workers", count, "--out", count, "--json"),
        ).json()
        for count in "12"
    ]
    for key in ("splits", "test_accuracy", "val_accuracy"):
        assert found[0][key] == found[1][key]


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


@pytest.mark.part("pictures")
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
def test_demo_without_matplotlib(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "find_spec", lambda name: None)
    outcome = cli("demo")
    assert (outcome.code, outcome.err) == (0, "")
    told = " ".join(outcome.out.split())
    assert "no picture was drawn: pip install 'herofilter[pictures]' adds it" in told
    assert {path.suffix for path in (tmp_path / "runs/demo").iterdir()} == {".json"}


@pytest.mark.usefixtures("_tiny")
def test_demo_json(cli: Cli, tmp_path: Path) -> None:
    found = cli("demo", "--out", "here", "--seed", "3", "--json").json()
    assert found == json.loads((tmp_path / "here/demo.json").read_text())
    assert found["config"]["train"]["seed"] == 3
    assert [level["heterophily"] for level in found["levels"]] == [0.1, 0.9]


def test_the_quick_demo(cli: Cli) -> None:
    found = cli("demo", "--quick", "--json").json()
    assert [level["heterophily"] for level in found["levels"]] == [0.1, 0.9]
    assert (found["num_nodes"], found["num_splits"]) == (120, 1)


# help


@pytest.mark.parametrize("command", ["list", "info", "train", "demo"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_an_example(cli: Cli, command: str, option: str) -> None:
    outcome = cli(command, option)
    assert outcome.code == 0
    assert f"Example: herofilter {command}" in outcome.out


@pytest.mark.parametrize("args", [["list", "--models"], ["info", "karate"]])
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
    text = cli("train", mine, *PLAIN).error()
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
        (
            ["--patcher", "fsat"],
            "patcher must be one of auto, polynomial, local, spectral, fast (got 'fsat')",
        ),
        (["--seed", "-3"], "seed must be at least 0 (got -3)"),
        (["--model", "mlp", "--workers", "0"], "workers must be at least 1 (got 0)"),
        (
            ["--ensemble", "--model", "mlp"],
            "ensemble must go with the model auto, whose members it averages (got mlp); "
            "give --model auto",
        ),
        (
            ["--ensemble", "--preset", "paper"],
            "ensemble must go with the model auto, whose members it averages (got a preset); "
            "give --model auto",
        ),
        (
            ["--model", "auto", "--preset", "paper"],
            "preset must be left out with the model auto, which brings its own (got paper)",
        ),
    ],
)
def test_bad_options(cli: Cli, mine: str, args: list[str], text: str) -> None:
    assert cli("train", mine, *args).error().startswith(text)
    assert not Path("runs").exists()


@pytest.mark.parametrize("setting", ["lr=[", "filter_starts=5", "filter_starts=null", "lr=nan"])
def test_odd_settings(cli: Cli, mine: str, setting: str) -> None:
    assert setting.partition("=")[0] in cli("train", mine, *PLAIN, "--set", setting).error()


def test_named_split_of_a_file(cli: Cli, mine: str) -> None:
    assert "splits" in cli("train", mine, *PLAIN, "--splits", "public").error()


def test_unknown_model(cli: Cli, mine: str) -> None:
    text = cli("train", mine, "--model", "herofiltr").error()
    assert text.endswith("(got 'herofiltr') (did you mean 'herofilter'?)")


def test_folder_of_another_run(cli: Cli, mine: str) -> None:
    assert cli("train", mine, *PLAIN, "--out", "run").code == 0
    text = cli("train", mine, *PLAIN, "--seed", "1", "--out", "run").error()
    assert text == (
        "run must hold the same run to be continued, but its configuration differs; "
        "give another --out"
    )
    Path("full").mkdir()
    Path("full/letter.txt").touch()
    text = cli("train", mine, *PLAIN, "--out", "full").error()
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
    spectral = [*QUICK, "--patcher", "spectral"]
    first = cli("train", mine, *spectral, "--out", "a", "--json").json()
    (path,) = (tmp_path / "cache" / "eigen").iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    outcome = cli("train", mine, *spectral, "--out", "b", "--json")
    assert outcome.json()["test_accuracy"] == first["test_accuracy"]
    assert outcome.err == (
        f"warning: the cached eigen-decomposition {path} is damaged; computing it again\n"
    )


# in a new process


def test_as_a_process(tmp_path: Path) -> None:
    write_npz(tmp_path / "mine.npz")
    environment = {**os.environ, "HEROFILTER_CACHE": str(tmp_path / "cache")}
    environment.pop("HEROFILTER_DATA", None)

    def run(*args: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "herofilter", *args],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    outcome = run("train", "mine.npz", *PLAIN, "--json")
    assert outcome.json()["splits"] == [0]
    assert outcome.err == ""
    assert run("info", "mine.npzz").error().startswith("the dataset must be one of")


# tune and presets


FEW = ("--trials", "2", "--splits", "0,1", "--model", "mlp", "--set", "epochs=2")


def test_tune(cli: Cli, mine: str, tmp_path: Path) -> None:
    outcome = cli("tune", mine, *FEW, "--as", "tuned-fast")
    assert (outcome.code, outcome.err) == (0, "")
    assert "trials: 2 completed, 0 pruned, 0 failed in " in outcome.out
    assert "epochs=2" in outcome.out
    assert "validation accuracy " in outcome.out
    assert "test accuracy " in outcome.out
    preset = "runs/tune-mine/preset.yaml"
    assert f"use it: herofilter train mine.npz --splits 0,1 --preset {preset}" in outcome.out
    assert list(yaml.safe_load((tmp_path / preset).read_text())["presets"]) == ["tuned-fast"]


def test_tune_json_continues(cli: Cli, mine: str, tmp_path: Path) -> None:
    found = cli("tune", mine, *FEW, "--out", "a", "--json").json()
    assert found["out"] == "a"
    assert found["trials"]["completed"] == 2
    assert found["command"] == (
        "herofilter tune mine.npz --budget 1800s --trials 2 --splits 0,1 --model mlp --set epochs=2"
    )
    assert {**json.loads((tmp_path / "a/tune.json").read_text()), "out": "a"} == found
    again = cli("tune", mine, *FEW, "--trials", "3", "--out", "a", "--json").json()
    assert again["trials"]["completed"] == 3


def test_a_preset_written_by_tune_is_trained(cli: Cli, mine: str) -> None:
    tuned = cli("tune", mine, *FEW, "--json").json()
    options = ("--preset", "runs/tune-mine/preset.yaml", "--splits", "0,1", "--json")
    found = cli("train", mine, *options, "--out", "a").json()
    assert (found["model"], found["config"]) == ("mlp", tuned["config"])
    assert found["test_accuracy"] == tuned["test_accuracy"]
    assert found["val_accuracy"] == tuned["val_accuracy"]
    changed = cli(
        "train", mine, *options, "--out", "b", "--seed", "4", "--set", "epochs=1", "--patcher=fast"
    ).json()
    expected = Config.from_dict(tuned["config"]).replace(seed=4, epochs=1, patcher="fast")
    assert Config.from_dict(changed["config"]) == expected
    text = cli("train", mine, *options[:2], "--model", "gcn").error()
    assert text == (
        "model must be mlp with the preset runs/tune-mine/preset.yaml (got gcn); leave --model out"
    )


def test_a_preset_keeps_its_patcher(cli: Cli, mine: str) -> None:
    fixed = ("--set", "patcher=fast", "--set", "patch_size=4", "--set", "epochs=1")
    assert cli("tune", mine, "--trials", "1", "--splits", "0", *fixed).code == 0
    options = ("--preset", "runs/tune-mine/preset.yaml", "--json")
    assert cli("train", mine, *options).json()["config"]["patcher"]["patcher"] == "fast"


def test_a_graph_without_presets(cli: Cli, mine: str) -> None:
    text = cli("train", mine, "--preset", "tuned").error()
    assert text == (
        "preset must be one of default, paper (got 'tuned'); mine.npz has no presets of its own "
        "yet: herofilter tune mine.npz makes one, and the path of its preset.yaml is accepted"
    )
    assert cli("train", mine, "--preset", "my.yaml").error().startswith("my.yaml must be an exist")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--budget", "soon"], "a budget must be a time such as 90s, 30m or 2h (got 'soon')"),
        (["--trials", "0"], "trials must be at least 1 (got 0)"),
        (["--finalists", "-1"], "finalists must be at least 0 (got -1)"),
        (["--space", "wyde"], "space must be one of wide, paper (got 'wyde')"),
        (["--splits", "10"], "a split must be between 0 and 9 (got 10)"),
        (["--set", "seed=3"], "seed must not be a fixed setting of a search; give --seed instead"),
        (["--set", "lrr=3"], "there is no setting 'lrr' (did you mean 'lr'?)"),
        (["--as", "default"], "a preset's name must consist of small letters"),
        (["--model", "mpl"], "model must be one of"),
    ],
)
def test_bad_options_of_tune(cli: Cli, mine: str, args: list[str], text: str) -> None:
    assert cli("tune", mine, *args).error().startswith(text)
    assert not Path("runs").exists()


def test_ctrl_c_keeps_finished_trials(
    cli: Cli, mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = rich.progress.Progress.update

    def press(self: rich.progress.Progress, *args: Any, **values: Any) -> None:
        update(self, *args, **values)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rich.progress.Progress, "update", press)
        outcome = cli("tune", mine, *FEW)
    assert (outcome.code, outcome.err) == (
        130,
        "stopped; the same command goes on with what is finished\n",
    )
    kept = json.loads((tmp_path / "runs/tune-mine/trials.json").read_text())
    assert [trial["state"] for trial in kept] == ["completed"]
    assert cli("tune", mine, *FEW, "--json").json()["trials"]["completed"] == 2


def test_help_of_tune_shows_an_example(cli: Cli) -> None:
    assert "Example: herofilter tune texas --budget 30m" in cli("tune", "--help").out


# bench


SMALL = ("bench", "herofilter", "--graphs", "karate", "--workers", "1", "--splits", "0,1")


@pytest.fixture
def _quick_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Config().replace(patch_size=4, hidden_channels=8, epochs=3)
    monkeypatch.setattr(
        accuracy, "preset_run", lambda graph, preset, model: (model or "herofilter", quick)
    )


@pytest.mark.usefixtures("_quick_bench")
def test_bench(cli: Cli, tmp_path: Path) -> None:
    outcome = cli(*SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    folder = "runs/bench-herofilter"
    assert f"written to {folder}/accuracy.json and {folder}/results.md" in outcome.out
    result = json.loads((tmp_path / folder / "accuracy.json").read_text())
    columns = result["graphs"]["karate"]["columns"]
    assert [name for name in columns if columns[name] is None] == [
        "tuned-undirected",
        "tuned-fast",
        "tuned-directed",
    ]
    for name in ("mlp", "gcn", "default"):
        assert f"{100 * columns[name]['test_accuracy']['mean']:.1f} ±" in outcome.out
    page = (tmp_path / folder / "results.md").read_text()
    assert "`herofilter bench herofilter --graphs karate --splits 0,1`" in page


@pytest.mark.usefixtures("_quick_bench")
def test_bench_json(cli: Cli, tmp_path: Path) -> None:
    options = ("--columns", "mlp", "--out", "a", "--results", "b/c.json", "--json")
    found = cli(*SMALL, *options).json()
    assert found == json.loads((tmp_path / "b/c.json").read_text())
    assert (tmp_path / "b/c.md").exists()
    made = {path.name for path in (tmp_path / "a").iterdir()}
    assert made == {"karate-mlp-seed-0.json", "report.html"}
    # finished trainings aren't repeated, so even the seconds are the same
    assert cli(*SMALL, *options).json() == found


@pytest.mark.usefixtures("_quick_bench")
def test_bench_says_what_it_runs_again(cli: Cli) -> None:
    assert cli(*SMALL, "--columns", "mlp").code == 0
    path = Path("runs/bench-herofilter/karate-mlp-seed-0.json")
    content = json.loads(path.read_text())
    content["config"]["train"]["lr"] = 0.5
    path.write_text(json.dumps(content))
    assert cli(*SMALL, "--columns", "mlp").err == (
        f"warning: {path} was made with another configuration (lr was 0.5 and is 0.01); "
        "its jobs are run anew\n"
    )


@pytest.mark.usefixtures("_quick_bench")
def test_ctrl_c_keeps_finished_jobs(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    update = rich.progress.Progress.update

    def press(self: rich.progress.Progress, *args: Any, **values: Any) -> None:
        update(self, *args, **values)
        if values["completed"] == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rich.progress.Progress, "update", press)
        outcome = cli(*SMALL, "--columns", "mlp", "--out", "a")
    assert (outcome.code, outcome.err) == (
        130,
        "stopped; the same command goes on with what is finished\n",
    )
    assert [path.name for path in Path("a").iterdir()] == ["karate-mlp-seed-0.json"]
    assert cli(*SMALL, "--columns", "mlp", "--out", "a").code == 0


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--graphs", "karat"], "(got 'karat') (did you mean 'karate'?)"),
        (["--columns", "mpl"], "(got 'mpl') (did you mean 'mlp'?)"),
        (["--splits", "10"], "a split must be between 0 and 9 (got 10)"),
        (["--workers", "0"], "workers must be at least 1 (got 0)"),
    ],
)
def test_bad_options_of_bench(cli: Cli, args: list[str], text: str) -> None:
    assert text in cli(*SMALL, *args).error()
    assert not Path("runs").exists()


def test_help_of_bench_shows_an_example(cli: Cli) -> None:
    assert "Example: herofilter bench herofilter" in cli("bench", "herofilter", "--help").out


def test_bench_filters(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variant_config = filters.variant_config
    monkeypatch.setattr(
        filters,
        "variant_config",
        lambda variant: variant_config(variant).replace(hidden_channels=8, epochs=3),
    )
    monkeypatch.setattr(filters, "GRAPHS", {"karate": StudyGraph((0, 1), "tiny")})
    args = ("bench", "filters", "--variants", "fixed,learned", "--workers", "1")
    outcome = cli(*args)
    assert (outcome.code, outcome.err) == (0, "")
    folder = "runs/bench-filters"
    assert outcome.out.startswith("learned against fixed: ")
    assert f"written to {folder}/filters.json and {folder}/filters.md" in outcome.out
    found = cli(*args, "--results", "b/c.json", "--json").json()
    assert found == json.loads((tmp_path / "b/c.json").read_text())
    assert found == json.loads((tmp_path / folder / "filters.json").read_text())
    assert "`herofilter bench filters --variants fixed,learned`" in Path("b/c.md").read_text()
    assert "(did you mean 'karate'?)" in cli(*args, "--graphs", "karat").error()
    assert "Example: herofilter bench filters" in cli("bench", "filters", "--help").out
