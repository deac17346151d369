"""The commands that documents show exist, with their options, and the quick ones run.

Every shown command is either run here (``RUN``, ``TOUR``) or only parsed by the real command line,
for a reason that ``ONLY_PARSED`` names.
"""

import argparse
import importlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from herofilter.cli import app
from herofilter.config import Config
from herofilter.data import list_datasets, on_disk
from herofilter.nn import find_model
from herofilter.serve.bodies import PredictRequest
from tests.cli.test_cli import Cli, cli as cli
from tests.optional_parts import absent
from tests.shell_blocks import Shown, code_blocks, inline_commands, shown_commands
from tests.test_docs import PAGES, README, ROOT, python_blocks, run_block

DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *PAGES]
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in DOCUMENTS}
SHOWN = [
    pytest.param(page, shown, id=f"{page}: {shown.text}"[:90])
    for page, text in TEXTS.items()
    for shown in shown_commands(text)
]
# quick, and with nothing to prepare: run as they are, with their exit codes
RUN = {
    "herofilter --help": 0,
    "herofilter --version": 0,
    "herofilter train --help": 0,
    "herofilter list": 0,
    "herofilter list --models": 0,
    "herofilter info karate": 0,
    "herofilter train karate --splits 0 --set epochs=20": 0,
    "herofilter train karate --splits 0 --set epochs=20 --out runs/karate": 0,
    "herofilter train karate --set patchsize=8": 2,
    "herofilter reproduce list": 0,
    "herofilter reproduce filter-response --quick": 0,
}
# run by the tests of the tours below, in the order of their page
TOUR = {
    "your-tables.md": "herofilter (fit|predict|explain|export) ",
    "datasets.md": "herofilter train mine.npz",
    "run-folder.md": "herofilter (train|predict|explain|export) ",
}
ONLY_PARSED = {
    r"herofilter (fit|predict|explain|export) ": "your-tables.md runs the same on its own tables",
    r"herofilter train mine.npz": "datasets.md runs the same on its own file",
    r"herofilter (train|report) \S+": "trains benchmark graphs for minutes, or reads such runs",
    r"herofilter (tune|bench|demo|reproduce)\b": "computes for minutes to hours",
    r"herofilter (pack|patch) ": "a graph of gigabytes, or a minute of two cores",
    r"herofilter serve ": "it runs until it is stopped; tests/serve asks one",
    r"python -m (benchmarks|herofilter)\.": "measures for minutes to hours",
    r"(torchrun|srun) ": "needs several machines; tests/distributed starts the same here",
    r"make ": "sets up an environment or runs these very tests",
    r"pip install ": "changes the environment",
    r"curl ": "asks a service that is running; tests/serve asks the same",
    r"head ": "no command of ours",
}
DATA = os.environ.get("HEROFILTER_DATA", "")
# graphs and folders that other commands of the pages make
MADE = {"mine.npz", "patents", "/shared/patents"}


def is_toured(page: str, text: str) -> bool:
    return page in TOUR and re.match(TOUR[page], text) is not None


def only_parsed(page: str, text: str) -> bool:
    if text in RUN or is_toured(page, text):
        return False
    return any(re.match(pattern, text) for pattern in ONLY_PARSED)


class Parsed(Exception):
    """The arguments were taken; it ends a command before its work."""


def leaves(command: Any) -> Iterator[Any]:
    inside = getattr(command, "commands", None)
    if inside is None:
        yield command
    else:
        for each in inside.values():
            yield from leaves(each)


def parse(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of a command's options, from the real command line without its work."""
    command, taken = typer.main.get_command(app), {}

    def take(**values: Any) -> None:
        taken.update(values)

    for leaf in leaves(command):
        leaf.callback = take
    command.main(args=list(words[1:]), prog_name="herofilter", standalone_mode=False)
    return taken


def parse_module(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the parser of ``python -m module`` read its arguments, without the work."""
    module, arguments = words[words.index("-m") + 1], list(words[words.index("-m") + 2 :])
    read = argparse.ArgumentParser.parse_args

    def stop(self: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> None:
        read(self, *args, **kwargs)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    with pytest.raises(Parsed):
        importlib.import_module(module).main()


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


def test_commands_are_found() -> None:
    text = (
        "a\n\n    $ herofilter info \\\n        x  # why\n    shown\n\n    more\n\nb\n\n"
        "    herofilter list\n    prose\n\n```bash\npip install x\n```\n`herofilter\ntune --as`"
    )
    assert sorted(shown_commands(text)) == [
        Shown(("herofilter", "info", "x"), ("shown", "", "more")),
        Shown(("herofilter", "list"), ()),
        Shown(("pip", "install", "x"), ()),
    ]
    assert inline_commands(text) == ["herofilter tune --as"]


def test_every_command_is_run_or_has_a_reason() -> None:
    commands = [
        (page, shown.text) for page, text in TEXTS.items() for shown in shown_commands(text)
    ]
    assert len(commands) > 100
    unknown = [
        entry
        for entry in commands
        if not (entry[1] in RUN or is_toured(*entry) or only_parsed(*entry))
    ]
    assert unknown == []
    texts = {text for _, text in commands}
    assert set(RUN) - texts == set(), "RUN has commands that no page shows"
    parsed = [text for page, text in commands if only_parsed(page, text)]
    idle = [each for each in ONLY_PARSED if not any(re.match(each, text) for text in parsed)]
    assert idle == [], "ONLY_PARSED has reasons that no command needs"


@pytest.mark.any_part
@pytest.mark.parametrize(("page", "shown"), SHOWN)
def test_a_shown_command_exists_with_its_options(
    page: str, shown: Shown, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = shown.words
    if "-m" in words and words[0] in ("python", "torchrun", "srun"):
        if words[-1] == "…":  # shortened: the same as the command above it
            assert words[words.index("-m") + 1] in TEXTS[page].partition(f"$ {words[0]}")[0]
        else:
            parse_module(words, monkeypatch)
    elif words[0] == "make":
        assert words[1] in make_targets()
    elif words[0] == "pip":
        asked = re.findall(r"\[([\w,-]+)\]", shown.text)
        assert {name for each in asked for name in each.split(",")} <= extras()
    elif words[0] == "herofilter" and words[1].startswith("--"):
        assert shown.text in RUN
    elif words[0] == "herofilter" and "--help" not in words:
        monkeypatch.chdir(tmp_path)
        values = parse(words)
        if RUN.get(shown.text) != 2:
            Config().with_settings(values.get("settings") or [])
        if values.get("model") not in (None, "auto") and words[1] in ("train", "tune"):
            find_model(str(values["model"]))
        if "graph" in values and values["graph"] is not None:
            assert values["graph"] in {info.name for info in list_datasets()} | MADE


def test_a_wrong_option_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (("train", "karate", "--sets", "lr=1"), ("trian", "karate"), ("fit",)):
        with pytest.raises(Exception, match=r"(?i)no such (option|command)|missing"):
            parse(("herofilter", *words))
    with pytest.raises(SystemExit):
        parse_module(("python", "-m", "benchmarks.scale", "--wriet"), monkeypatch)


@pytest.mark.parametrize("page", TEXTS)
def test_commands_within_sentences_exist(page: str) -> None:
    known = {leaf.name: leaf for leaf in leaves(typer.main.get_command(app))}
    root = {"--help", "--version", "--install-completion"}
    for text in inline_commands(TEXTS[page]):
        first, *rest = text.split()[1:]
        if first.startswith("-"):
            assert first in root, text
            continue
        if first == "trian":  # the typo whose answer is measured
            continue
        names = [first, *rest[:1]] if first == "bench" else [first]
        assert names == ["bench"] or names[-1] in known, text
        options = {word.partition("=")[0] for word in rest if word.startswith("--")}
        if options:
            has = {option for each in known[names[-1]].params for option in each.opts}
            assert options - has - {"--help"} == set(), text


def same_shape(lines: tuple[str, ...]) -> list[str]:
    """Return lines of a terminal without borders and widths."""
    plain = (" ".join(re.sub("[┃│━─┏┓┗┛┡┩┳┻╇]", " ", line).split()) for line in lines)
    return [line for line in plain if line not in ("", "...")]


@pytest.mark.parametrize(
    ("page", "shown"), [entry for entry in SHOWN if entry.values[1].text in RUN]
)
def test_a_quick_command_runs_and_prints_what_is_shown(page: str, shown: Shown, cli: Cli) -> None:
    if shown.words[1] == "reproduce" and (reason := absent("pictures")):
        pytest.skip(reason)
    done = cli(*shown.words[1:])
    assert done.code == RUN[shown.text], done.err
    expected = same_shape(shown.output)
    printed = same_shape((*done.out.splitlines(), *done.err.splitlines()))
    if "train" in shown.words and done.code == 0:
        # accuracies and seconds are those of another machine
        both = ([re.sub(r"[\d.]+", "0", line) for line in lines] for lines in (expected, printed))
        expected, printed = both
    if shown.text != "herofilter list":  # its columns are as wide as the terminal
        assert [line for line in expected if line not in printed] == [], printed


def tour(page: str) -> list[Shown]:
    return [shown for shown in shown_commands(TEXTS[page]) if is_toured(page, shown.text)]


def make_files(page: str) -> None:
    """Run the Python of a page that writes the files its commands read."""
    for block in python_blocks(TEXTS[page]):
        if "open(" in block or "savez(" in block:
            run_block(block, page, {"__name__": "block"})


@pytest.mark.slow
def test_the_tour_of_your_tables(cli: Cli) -> None:
    make_files("your-tables.md")
    for module in ("onnx", "onnxruntime", "onnxscript", "sklearn"):
        pytest.importorskip(module)
    commands = [shown.words for shown in tour("your-tables.md")]
    # the first block has the three commands in a row, without a budget; the rest is the tour
    fits = [words for words in commands if words[1] == "fit"]
    assert [("--budget" in words) for words in fits] == [False, True]
    start = commands.index(fits[1])
    for words in commands[start:]:
        # each model once, instead of a search for a minute
        done = cli(*words[1:], *(["--trials", "1"] if words[1] == "fit" else []))
        assert done.code == 0, (words, done.err)
    assert Path("predictions.csv").read_text().startswith("id,label,part,prediction,confidence,")
    assert Path("model.onnx").stat().st_size > 1000


@pytest.mark.slow
def test_the_tour_of_a_file(cli: Cli) -> None:
    make_files("datasets.md")
    for shown in tour("datasets.md"):
        assert cli(*shown.words[1:], "--set", "epochs=5").code == 0


@pytest.mark.slow
@pytest.mark.skipif(not DATA or not on_disk("texas"), reason="needs texas in HEROFILTER_DATA")
def test_the_tour_of_a_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEROFILTER_DATA", DATA)
    for shown in tour("run-folder.md"):
        done = cli(*shown.words[1:])
        assert done.code == 0, done.err
    assert Path("texas.csv").exists()


def test_the_request_that_serving_shows_is_one() -> None:
    bodies = ["\n".join(block) for block in code_blocks(TEXTS["serving.md"]) if block[0][0] == "{"]
    assert len(bodies) == 1
    request = PredictRequest.model_validate(json.loads(bodies[0]))
    assert request.nodes is not None
    assert len(request.nodes) == 1
