"""From the user's tables to a model, predictions and explanations."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from herofilter import HeroFilterClassifier
from herofilter.training import recipe
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.search.choices import CONTENDER_NAMES
from herofilter.training.search.contenders import CONTENDERS
from tests.cli.test_cli import Cli, Outcome, cli as cli
from tests.user_tables import NAMES, write_tables

FIT = ("fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "topic")
# a fixed number of trials, so that the result doesn't depend on the time
QUICK = ("--budget", "10m", "--trials", "2", "--set", "epochs=30", "--set", "patch_size=4")


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def first_fit(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Outcome]]:
    """Return the folder of the first fit, and a list for the command's outcome, empty at first."""
    return tmp_path_factory.mktemp("fit"), []


@pytest.fixture
def fitted(cli: Cli, tmp_path: Path, first_fit: tuple[Path, list[Outcome]]) -> Outcome:
    """Return the outcome of fit; each test has a copy of the tables and of the model."""
    kept, said = first_fit
    if not said:
        write_tables(tmp_path)
        said.append(cli(*FIT, "--out", "model", *QUICK))
        shutil.copytree(tmp_path, kept, dirs_exist_ok=True)
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    return said[0]


def test_three_commands_from_tables_to_reasons(cli: Cli, fitted: Outcome) -> None:
    assert fitted.code == 0, fitted.err
    assert "note: repeated edges were merged: 3 rows of" in fitted.err
    assert "Data card: nodes" in fitted.out
    assert "\nkept " in fitted.out
    assert re.search(r"written in \d+ s: model and model/predictions.csv", fitted.out)
    assert re.search(r"this takes up to 600 s, until \d\d:\d\d:\d\d", fitted.out)
    known = rows("model/predictions.csv")
    assert list(known[0]) == ["id", "label", "part", "prediction", "confidence", *NAMES]
    assert [row["id"] for row in known] == [f"user:{i}" for i in range(110)]
    for row in known:
        shares = {name: float(row[name]) for name in NAMES}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        assert shares[row["prediction"]] == max(shares.values()) == float(row["confidence"])
    given = [row["topic"] for row in rows("nodes.csv")]
    assert [row["label"] for row in known] == given
    sizes = json.loads(Path("model/metrics.json").read_text())["nodes"]
    assert Counter(row["part"] for row in known) == {**sizes, "none": given.count("")}

    tables = ("--edges", "new_edges.csv", "--nodes", "new_nodes.csv")
    found = cli("predict", "model", *tables, "--out", "new.csv")
    assert found.code == 0, found.err
    assert "note: the tables add 10 nodes" in found.err
    assert [row["id"] for row in rows("new.csv")] == [f"user:{i}" for i in range(110, 120)]
    assert {(row["label"], row["part"]) for row in rows("new.csv")} == {("", "none")}

    again = cli("predict", "model", "--out", "same.csv", "--json").json()
    assert again == {"out": "same.csv", "nodes": 110, "notes": []}
    assert Path("same.csv").read_bytes() == Path("model/predictions.csv").read_bytes()


@pytest.mark.part("tables")
def test_metrics_hold_all_contenders_and_every_measure(fitted: Outcome) -> None:
    metrics = json.loads(Path("model/metrics.json").read_text())
    assert tuple(metrics["models"]) == CONTENDER_NAMES
    assert [metrics["models"][name]["title"] for name in ("mlp", "gcn")] == ["MLP", "GCN"]
    # patches of four nodes aren't HeroFilter's
    assert metrics["models"]["herofilter"]["title"] == "summary-mixer"
    for entry in metrics["models"].values():
        assert entry["title"] in fitted.out
    for contender in CONTENDERS:
        assert f"{contender.title}: validation " in fitted.err
    best = max(metrics["models"].values(), key=lambda entry: entry["validation"]["accuracy"])
    kept = metrics["models"][metrics["kept"]]
    assert kept["validation"]["accuracy"] == best["validation"]["accuracy"]
    wanted = {"accuracy", "balanced_accuracy", "macro_f1", "log_loss", "calibration_error", "auc"}
    for entry in metrics["models"].values():
        assert wanted <= set(entry["test"])
    assert sum(metrics["nodes"].values()) == len([r for r in rows("nodes.csv") if r["topic"]])


def test_a_model_folder_has_its_parts_and_no_pickle(fitted: Outcome) -> None:
    parts = {path.name for path in Path("model").iterdir()}
    assert parts == {
        "MODEL_CARD.md",
        "classes.json",
        "config.yaml",
        "encoder.json",
        "graph.npz",
        "history.json",
        "ids.parquet",
        "made.json",
        "metrics.json",
        "model.json",
        "predictions.csv",
        "report.html",
        "search",
        "weights.safetensors",
    }
    assert SavedModel.load("model").classes == NAMES


@pytest.mark.part("onnx")
def test_an_explanation_names_the_nodes_of_the_patch(cli: Cli, tmp_path: Path) -> None:
    write_tables(tmp_path)
    # a perceptron or a GCN that wins by chance has no patch
    kept = cli(*FIT, "--out", "model", *QUICK, "--model", "herofilter", "--json").json()
    assert kept["kept"] == "herofilter"
    found = cli("explain", "model", "--node", "user:42", "--json").json()
    assert found["node"] == "user:42"
    assert found["prediction"] in NAMES
    assert sum(abs(token["share"]) for token in found["tokens"]) == pytest.approx(1)
    ego = [token for token in found["tokens"] if token["slot"] == "ego"]
    assert [token["id"] for token in ego] == ["user:42"]
    assert found["notes"] == []
    new = ("--node", "user:110", "--edges", "new_edges.csv", "--nodes", "new_nodes.csv")
    assert "note: the tables add 10 nodes" in cli("explain", "model", *new).err
    assert cli("explain", "model", *new, "--json").json()["notes"]
    shown = cli("explain", "model", "--node", "user:42", "--top", "3")
    assert "user:42: " in shown.out
    assert "rests on the node's own features" in shown.out
    wrong = cli("explain", "model", "--node", "user:4200").error()
    assert wrong.startswith("a node must be called by an id of the graph (got 'user:4200')")
    exported = cli("export", "model", "--onnx", "model.onnx")
    assert exported.out == "written: model.onnx\n"
    assert Path("model.onnx").stat().st_size > 1000


def test_a_model_without_patches_is_explained_by_columns(cli: Cli, tmp_path: Path) -> None:
    write_tables(tmp_path)
    assert cli(*FIT, "--out", "model", *QUICK, "--model", "mlp").code == 0
    shown = cli("explain", "model", "--node", "user:42")
    assert shown.code == 0, shown.err
    assert "Columns of user:42: " in shown.out
    assert "the model reads the node's own columns only, no edges" in shown.out
    found = cli("explain", "model", "--node", "user:42", "--json").json()
    assert (found["tokens"], found["others"]) == ([], [])
    Path("asked.txt").write_text("user:3\nuser:4\n")
    many = cli("explain", "model", "--ids", "asked.txt", "--out", "why.csv")
    assert many.code == 0, many.err
    assert "What the predictions rest on" in many.out
    assert [row["id"] for row in rows("why.csv")] == ["user:3"] * 5 + ["user:4"] * 5
    asked = ("explain", "model", "--ids", "model/predictions.csv", "--json")
    assert len(cli(*asked).json()["nodes"]) == 110
    measured = cli("explain", "model", "--columns", "--repeats", "2", "--out", "columns.json")
    assert "How much worse the model gets when a column is shuffled" in measured.out
    again = cli("explain", "model", "--columns", "--repeats", "2", "--json").json()
    assert json.loads(Path("columns.json").read_text()) == again


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            (),
            "explain must be told what to explain by one of --node, --ids and --columns "
            "(got none of them)",
        ),
        (
            ("--node", "user:1", "--columns"),
            "explain must be told what to explain by one of --node, --ids and --columns "
            "(got --node and --columns)",
        ),
        (
            ("--columns", "--nodes", "nodes.csv"),
            "the importance of columns is measured on the model's own nodes (got tables); "
            "leave --edges and --nodes out",
        ),
        (
            ("--ids", "none.txt"),
            "the ids must be an existing file (got none.txt); check the path",
        ),
        (("--ids", "empty.txt"), "the ids must name at least one node (got none in empty.txt)"),
        (
            ("--node", "user:1", "--out", "why.xlsx"),
            "explanations must be written to a .csv or .json file (got why.xlsx)",
        ),
        (("--columns", "--repeats", "0"), "repeats must be at least 1 (got 0)"),
    ],
)
def test_mistakes_in_what_to_explain(
    cli: Cli, fitted: Outcome, options: tuple[str, ...], message: str
) -> None:
    Path("empty.txt").write_text("\n\n")
    assert cli("explain", "model", *options).error() == message


def test_warnings_are_printed_and_kept(cli: Cli, tmp_path: Path) -> None:
    write_tables(tmp_path, num_nodes=200)
    head, *lines = Path("nodes.csv").read_text().splitlines()
    cells = [
        f"{line},{1000 + number},{line.rpartition(',')[2]}" for number, line in enumerate(lines)
    ]
    Path("nodes.csv").write_text("\n".join([f"{head},row,decision", *cells]) + "\n")
    command = (*FIT, "--out", "model", *QUICK, "--trials", "1")
    found = cli(*command)
    assert found.code == 0, found.err
    assert (
        "warning: the column 'row' holds another whole number in each of 190 rows, like an id, "
        "which says nothing about other nodes; if it is one, name the other columns with "
        "--features\n"
    ) in found.err
    assert "warning: the column 'decision' alone tells the class of 100.0 % of the" in found.err
    assert "warning" not in found.out
    kept = json.loads(Path("model/metrics.json").read_text())["warnings"]
    assert [each["kind"] for each in kept][:2] == ["id-column", "telling-column"]
    assert set(kept[0]) == {"kind", "sentence", "cure", "where"}
    printed = cli(*command, "--json")
    assert printed.json()["warnings"] == kept
    assert printed.err == ""


def test_edges_that_do_not_help_are_said_not_to(cli: Cli, tmp_path: Path) -> None:
    write_tables(tmp_path, num_nodes=200, edges_help=False)
    found = cli(*FIT, "--out", "model", *QUICK)
    assert "the edges do not help on this graph" in found.out


def test_the_same_seed_gives_the_same_predictions(cli: Cli, tmp_path: Path) -> None:
    write_tables(tmp_path, num_nodes=60)
    for out in ("one", "two"):
        assert cli(*FIT, "--out", out, *QUICK).code == 0
    first, second = (Path(out, "predictions.csv").read_bytes() for out in ("one", "two"))
    assert first == second


@pytest.mark.part("tables")
def test_ctrl_c_says_what_is_kept_and_the_same_command_continues(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path, num_nodes=60)
    train, trained = recipe.train, []

    def stop_at_the_third(*given: Any, **named: Any) -> Any:
        trained.append(type(given[0]).__name__)
        if len(trained) == 3:
            raise KeyboardInterrupt
        return train(*given, **named)

    monkeypatch.setattr(recipe, "train", stop_at_the_third)
    stopped = cli(*FIT, "--out", "model", *QUICK)
    assert stopped.code == 130
    assert (
        "stopped; 2 finished trainings are kept in model/search, and the same command continues "
        "from them" in stopped.err
    )
    assert stopped.err.count("stopped;") == 1
    assert cli(*FIT, "--out", "model", *QUICK).code == 0
    assert trained[3] == trained[2] == "MLP"
    models = json.loads(Path("model/metrics.json").read_text())["models"]
    assert models["majority"]["trials"] == models["booster"]["trials"] == 1


def test_ctrl_c_before_the_first_training_promises_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path, num_nodes=60)

    def stop(*given: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(recipe, "train", stop)
    stopped = cli(*FIT, "--out", "model", *QUICK)
    assert stopped.code == 130
    assert stopped.err.endswith("stopped; no training was finished, so that nothing is kept\n")


def test_classes_are_spelt_as_in_the_table(cli: Cli, tmp_path: Path) -> None:
    write_tables(tmp_path, num_nodes=60)
    text = Path("nodes.csv").read_text().replace(",chem\n", ",\n")
    Path("nodes.csv").write_text(text.replace(",ai\n", ",True\n").replace(",bio\n", ",FALSE\n"))
    fitted = cli(*FIT, "--out", "model", *QUICK, "--model", "mlp")
    given = Counter(row["topic"] for row in rows("nodes.csv"))
    assert f"FALSE: {given['FALSE']}, True: {given['True']}" in fitted.out
    for made in (Path("model/predictions.csv"), Path("again.csv")):
        if not made.exists():
            assert cli("predict", "model", "--out", str(made)).code == 0
        known = rows(str(made))
        assert list(known[0])[-2:] == ["FALSE", "True"]
        assert {row["prediction"] for row in known} <= {"FALSE", "True"}
        assert Counter(row["label"] for row in known) == given
    assert SavedModel.load("model").classes == (False, True)
    assert cli("predict", "model", "--out", "p.parquet").code == 0
    table = pyarrow.parquet.read_table("p.parquet")
    assert table.column_names == list(known[0])
    assert table["prediction"].to_pylist() == [row["prediction"] for row in known]
    assert table["label"].to_pylist() == [row["label"] or None for row in known]


def test_the_card_of_tables(cli: Cli, tmp_path: Path) -> None:
    write_tables(tmp_path)
    tables = ("info", *FIT[1:])
    given = Counter(row["topic"] for row in rows("nodes.csv"))
    shown = cli(*tables)
    assert "note: repeated edges were merged: 3 rows of" in shown.err
    assert ", ".join(f"{name}: {given[name]}" for name in NAMES) in shown.out
    card = cli(*tables, "--json").json()
    assert card["classes"] == list(NAMES)
    assert card["class_counts"] == [given[name] for name in NAMES]
    assert any(note.startswith("repeated edges were merged") for note in card["notes"])
    assert cli("info").error() == (
        "info must have a graph or a table of edges (got neither); "
        "give GRAPH, or --edges, --nodes and --label"
    )
    assert "(got both)" in cli("info", "karate", *FIT[1:]).error()
    assert cli("info", "--edges", "edges.csv").error() == (
        "the card of tables needs the classes of the nodes (got none); give --nodes and --label"
    )


def test_an_odd_cell_is_a_note_on_the_error_stream(cli: Cli, fitted: Outcome) -> None:
    head, first, *rest = Path("new_nodes.csv").read_text().splitlines()
    cells = first.split(",")
    cells[2] = "11.90k"
    Path("new_nodes.csv").write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
    note = "1 of 10 cells of 'score' isn't a number, such as '11.90k'; it counts as missing"
    tables = ("--edges", "new_edges.csv", "--nodes", "new_nodes.csv")
    found = cli("predict", "model", *tables)
    assert found.code == 0
    assert f"note: {note}\n" in found.err
    assert "note:" not in found.out
    assert note in cli("predict", "model", *tables, "--json").json()["notes"]


def test_unknown_ids_and_encodings(cli: Cli, fitted: Outcome) -> None:
    text = Path("new_edges.csv").read_text() + "user:110,Zo\u00eb\n"
    Path("new_edges.csv").write_bytes(text.encode("cp1252"))
    tables = ("--edges", "new_edges.csv", "--nodes", "new_nodes.csv")
    assert cli("predict", "model", *tables).error() == (
        "the edges must be text in utf-8 (got other bytes in new_edges.csv); "
        "name the encoding with --encoding, such as cp1252 or utf-16"
    )
    read = ("predict", "model", *tables, "--encoding", "cp1252")
    assert "drop the edges with --drop-unknown" in cli(*read).error()
    dropped = cli(*read, "--drop-unknown")
    assert dropped.code == 0
    assert "edges joins an id without a row in the nodes, such as 'Zo\u00eb'" in dropped.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--label", "topics"), "the nodes must have a column 'topics'"),
        (("--edges", "no.csv"), "the edges must be an existing file (got no.csv)"),
        (("--budget", "soon"), "a budget must be a time such as 90s, 30m or 2h (got 'soon')"),
        (("--features", "agee"), "the nodes must have a column 'agee'"),
        (("--out", "."), "must be"),
        (("--metric", "acc"), "metric must be one of accuracy, balanced, f1, auc, ap (got 'acc')"),
        (("--model", "gnc"), "(got 'gnc') (did you mean 'gcn'?)"),
    ],
)
def test_mistakes_are_one_sentence(
    cli: Cli, tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    write_tables(tmp_path, num_nodes=40)
    assert message in cli(*FIT, *change).error()


def test_a_table_that_lacks_a_column_of_training_is_refused(cli: Cli, fitted: Outcome) -> None:
    text = Path("new_nodes.csv").read_text().replace("country", "land")
    Path("new_nodes.csv").write_text(text)
    tables = ("--edges", "new_edges.csv", "--nodes", "new_nodes.csv")
    message = cli("predict", "model", *tables).error()
    assert message.startswith(
        "the nodes must have the column 'country', which the model was trained"
    )


def test_the_classifier_reads_what_fit_wrote(fitted: Outcome) -> None:
    loaded = HeroFilterClassifier.load("model")
    assert list(loaded.classes_) == list(NAMES)
    assert [row["prediction"] for row in rows("model/predictions.csv")] == list(loaded.predict())


USED = """
import json, sys
from herofilter.cli import main
sys.argv = ["herofilter", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code
print("\\n" + json.dumps(list(sys.modules)))
"""


@pytest.mark.parametrize("command", [("predict",), ("explain", "--node", "user:42")])
def test_using_a_model_imports_nothing_to_train_one(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    write_tables(tmp_path, num_nodes=60)
    assert cli(*FIT, "--out", "model", *QUICK, "--trials", "1", "--model", "herofilter").code == 0
    done = subprocess.run(
        [sys.executable, "-c", USED, command[0], "model", *command[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "herofilter.nn.herofilter" in loaded
    # pandas isn't in this list, since PyG loads it where it is installed
    assert not loaded & {"optuna", "matplotlib", "sklearn", "onnx", "networkx", "ogb"}
    rooms = (
        "baselines.",
        "training.search",
        "data.datasets",
        "measures.",
        "reproduce",
        "estimator",
    )
    assert not [name for name in loaded if name.startswith(tuple(f"herofilter.{r}" for r in rooms))]
