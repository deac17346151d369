"""A graph folder on the command line: written, described, trained on, and damaged."""

from pathlib import Path

from herofilter.training.search.presets import choose_run, graph_name
from tests.cli.test_cli import QUICK, Cli, cli as cli


def test_a_folder_stands_for_its_graph(cli: Cli) -> None:
    packed = cli("pack", "karate", "--out", "club")
    assert (packed.code, packed.err) == (0, "")
    assert packed.out.startswith("34 nodes, 0.0 MiB: club")
    card, packed_card = cli("info", "karate", "--json").json(), cli("info", "club", "--json").json()
    for known in (card, packed_card):
        known.pop("name")
        # the free memory changes all the time
        known.pop("memory")
    assert packed_card == card
    runs = [
        cli("train", graph, "--model", "mlp", *QUICK, "--out", f"runs/{i}", "--json").json()
        for i, graph in enumerate(("karate", "club"))
    ]
    assert runs[0]["test_accuracy"] == runs[1]["test_accuracy"]
    assert runs[1]["graph"] == "club"


def test_a_folder_has_no_presets_and_gets_the_portfolio(cli: Cli) -> None:
    cli("pack", "csbm", "--out", "folders/blocks")
    assert choose_run("folders/blocks")[0] == "auto"
    assert graph_name("folders/blocks/") == "blocks"


def test_half_precision(cli: Cli) -> None:
    single = cli("pack", "csbm", "--out", "single", "--json").json()
    half = cli("pack", "csbm", "--out", "half", "--half", "--json").json()
    assert (half["nodes"], half["out"]) == (single["nodes"], "half")
    saved = single["bytes"] - half["bytes"]
    assert abs(saved - single["nodes"] * 32 * 2) < 100


def test_the_folder_must_be_named(cli: Cli) -> None:
    assert cli("pack", "karate").error() == (
        "the folder to write must be given (got none); give --out FOLDER"
    )


def test_verify(cli: Cli) -> None:
    cli("pack", "karate", "--out", "club")
    assert cli("pack", "club", "--verify").out == "every byte is as written: club\n"
    path = Path("club/y.npy").resolve()
    content = bytearray(path.read_bytes())
    content[-8] ^= 1
    path.write_bytes(content)
    assert cli("pack", "club", "--verify").error() == (
        f"{path} must be as it was written, but its checksum differs; "
        "copy the folder again or pack the graph anew"
    )


def test_damage_is_one_sentence_for_every_command(cli: Cli) -> None:
    cli("pack", "csbm", "--out", "blocks")
    path = Path("blocks/x.npy").resolve()
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:500])
    text = f"{path} must have {size} bytes (got 500); copy the folder again or pack the graph anew"
    assert cli("info", "blocks").error() == text
    for command in (("train", "--model", "mlp"), ("tune", "--budget", "1s"), ("pack",)):
        name, *options = command
        assert cli(name, "blocks", *options, "--out", "new").error() == text
    assert not Path("new").exists()


def test_an_absent_folder_is_one_sentence(cli: Cli) -> None:
    path = Path("no/where").resolve()
    assert cli("info", "no/where").error() == (
        f"{path} must be a graph folder (got no graph.json in it); "
        "make one with: herofilter pack GRAPH --out FOLDER"
    )
