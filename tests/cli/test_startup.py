"""What needs no graph loads no library for graphs: help, typos, completion, early mistakes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import herofilter
from tests.optional_parts import absent

HEAVY = (
    *("torch", "torch_geometric", "numba", "numpy", "scipy", "pyarrow", "pandas"),
    *("optuna", "matplotlib", "sklearn", "safetensors"),
    *("fastapi", "uvicorn"),
)
# runs every command line in one process and tells what each left in sys.modules
RUN = f"""
import contextlib, io, json, os, sys
from herofilter.cli import main
for words, variables in json.load(sys.stdin):
    os.environ.update(variables)
    sys.argv, out, err = ["herofilter", *words], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    for key in variables:
        del os.environ[key]
    heavy = [name for name in {HEAVY} if name in sys.modules]
    print(json.dumps([code, out.getvalue(), err.getvalue(), heavy]))
"""

LIGHT = {
    "help": ["--help"],
    "no command": [],
    "help of a command": ["train", "--help"],
    "help of a group": ["bench", "--help"],
    "version": ["--version"],
    "mistyped command": ["trian"],
    "mistyped option": ["train", "karate", "--sedd", "1"],
    "missing argument": ["train"],
}
MISTAKES = {
    "budget of tune": (["tune", "karate", "--budget", "soon"], "a budget must be a time such as"),
    "budget of fit": (
        ["fit", "--edges=e.csv", "--nodes=n.csv", "--label=y", "--budget=soon"],
        "a budget must be a time such as 90s, 30m or 2h (got 'soon')",
    ),
    "splits of train": (
        ["train", "karate", "--splits", "0,x"],
        "splits must be all or numbers such as 0,1,2 (got '0,x')",
    ),
    "splits of tune": (["tune", "karate", "--splits", "x"], "splits must be all or numbers"),
    "splits of bench": (["bench", "herofilter", "--splits", "x"], "splits must be all or numbers"),
    "splits of a table": (["bench", "homophilic", "--splits=10"], "a split must be between 0 and"),
    "unknown setting": (
        ["train", "karate", "--set", "lrr=1"],
        "there is no setting 'lrr' (did you mean 'lr'?)",
    ),
    "unknown setting of tune": (["tune", "karate", "--set", "lrr=1"], "there is no setting 'lrr'"),
    "unknown patcher": (["train", "karate", "--patcher", "fsat"], "patcher must be one of auto"),
    "unknown dataset": (["info", "karat"], "the dataset must be one of cora, "),
    "unknown dataset to train": (["train", "karat"], "the dataset must be one of cora, "),
    "missing npz file": (["train", "no.npz"], "no.npz must be an existing file; check the path"),
    "missing graph folder": (["info", "./no"], "{here}/no must be a graph folder (got no graph"),
    "missing graph to verify": (["pack", "no", "--verify"], "{here}/no must be a graph folder"),
    "missing preset": (["train", "karate", "--preset", "no.yaml"], "no.yaml must be an existing"),
    "unknown preset": (["train", "karate", "--preset", "tunde"], "preset must be one of default, "),
    "missing edges": (
        ["fit", "--edges", "no.csv", "--nodes", "a-file.csv", "--label", "y"],
        "the edges must be an existing file (got no.csv); check the path",
    ),
    "missing nodes": (
        ["fit", "--edges", "a-file.csv", "--nodes", "no.csv", "--label", "y"],
        "the nodes must be an existing file (got no.csv); check the path",
    ),
    "tables of no known kind": (
        ["fit", "--edges", "a-file.csv", "--nodes", "a-file", "--label", "y"],
        "the nodes must be a file that ends in .csv, .tsv or .parquet (got a-file)",
    ),
    "no model to predict": (["predict", "no"], "no must be a model folder (got no folder with a"),
    "no model to explain": (["explain", "no", "--node", "1"], "no must be a model folder"),
    "no model to export": (["export", "no", "--onnx", "m.onnx"], "no must be a model folder"),
    "no model to serve": (["serve", "no"], "no must be a model folder (got no folder with a"),
    "limit of serve": (
        ["serve", "model", "--max-nodes", "0"],
        "max_nodes must be at least 1 (got 0)",
    ),
    "port of serve": (["serve", "model", "--port", "70000"], "port must be from 0 to 65535 (got"),
    "host of serve": (
        ["serve", "model", "--port", "0", "--host", "203.0.113.7"],
        "the address 203.0.113.7:0 must be free and of this machine (",
    ),
    "missing edges to predict": (
        ["predict", "model", "--edges", "no.csv"],
        "the edges must be an existing file (got no.csv); check the path",
    ),
    "missing nodes to explain": (
        ["explain", "model", "--node", "1", "--nodes", "no.csv"],
        "the nodes must be an existing file (got no.csv); check the path",
    ),
    "predictions onto a folder": (
        ["predict", "model", "--out", "model"],
        "the file to write must not be a folder (got model); give a file's path",
    ),
    "predictions as a spreadsheet": (
        ["predict", "model", "--out", "p.xlsx"],
        "predictions must be written to a .csv or .parquet file (got p.xlsx, a spreadsheet); "
        "give p.csv, which spreadsheet programs open",
    ),
    "unknown encoding": (
        ["predict", "model", "--encoding", "utf-9"],
        "encoding must be one that Python knows (got 'utf-9')",
    ),
    "out of fit": (
        ["fit", "--edges=e.csv", "--nodes=n.csv", "--label=y", "--out=a-file/model"],
        "the folder to write must be a folder or absent (got a-file/model, and {here}/a-file is a "
        "file); give another path",
    ),
    "out of pack": (["pack", "karate"], "the folder to write must be given (got none); give --out"),
    **{
        f"a file for the folder of {words[0]} {words[1]}": (
            [*words, "--out", "a-file"],
            "the folder to write must be a folder or absent (got a-file, and a-file is a file); "
            "give another path",
        )
        for words in (
            ["train", "karate"],
            ["tune", "karate"],
            ["pack", "karate"],
            ["patch", "karate"],
            ["demo", "--json"],
            ["bench", "herofilter"],
            ["bench", "filters"],
            ["bench", "homophilic"],
        )
    },
    "a file above the predictions": (
        ["predict", "model", "--out", "a-file/p.csv"],
        "the folder to write must be a folder or absent",
    ),
}
COMPLETE = {
    "_HEROFILTER_COMPLETE": "complete_bash",
    "COMP_WORDS": "herofilter tra",
    "COMP_CWORD": "1",
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("startup")
    (folder / "a-file").touch()
    (folder / "a-file.csv").touch()
    (folder / "model").mkdir()
    seal = {"kind": "herofilter model", "format": 1, "files": {}}
    (folder / "model" / "model.json").write_text(json.dumps(seal))
    return folder


@pytest.fixture(scope="module")
def outcomes(here: Path) -> dict[str, list[Any]]:
    """Exit code, output, error output and heavy modules of every command line of this file."""
    lines = {
        **{name: (words, {}) for name, words in LIGHT.items()},
        "completion": ([], COMPLETE),
        **{name: (words, {}) for name, (words, _) in MISTAKES.items()},
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=here,
        env={**os.environ, "COLUMNS": "200"},
        input=json.dumps(list(lines.values())),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return dict(zip(lines, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", [*LIGHT, "completion", *MISTAKES])
def test_no_heavy_library_is_loaded(outcomes: dict[str, list[Any]], name: str) -> None:
    assert outcomes[name][3] == []


@pytest.mark.parametrize("name", MISTAKES)
def test_early_mistakes_are_one_sentence(
    outcomes: dict[str, list[Any]], here: Path, name: str
) -> None:
    if name in ("port of serve", "host of serve") and (reason := absent("serve")):
        pytest.skip(reason)
    code, out, err, _ = outcomes[name]
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {MISTAKES[name][1].format(here=here)}")
    assert err.count("\n") == 1
    assert {path.name for path in here.iterdir()} == {"a-file", "a-file.csv", "model"}


def test_help_typos_and_completion_say_what_they_must(outcomes: dict[str, list[Any]]) -> None:
    for name in ("help", "no command"):
        shown = outcomes[name][1] + outcomes[name][2]
        assert "Classify the nodes of a graph" in shown
        assert "explain" in shown
    assert outcomes["help"][0] == 0
    assert "Example: herofilter train texas" in outcomes["help of a command"][1]
    assert outcomes["version"][:3] == [0, f"herofilter {herofilter.__version__}\n", ""]
    assert "Did you mean 'train'?" in outcomes["mistyped command"][2]
    assert "--seed" in outcomes["mistyped option"][2]
    for name in ("mistyped command", "mistyped option", "missing argument"):
        assert outcomes[name][0] == 2
    assert outcomes["completion"][1].split() == ["train"]
