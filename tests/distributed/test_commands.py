"""The commands on a cluster, as a user types them: the results of the local engine."""

from pathlib import Path

import pyarrow.parquet
import pytest

from herofilter import PatchStore
from tests.cli.test_cli import Cli, cli  # noqa: F401
from tests.distributed.conftest import Nodes
from tests.patchers.test_store import contents

SETS = [part for text in ("epochs=3", "hidden_channels=8") for part in ("--set", text)]


@pytest.mark.slow
def test_patch_train_and_predict(cli: Cli, graphs: Path, ray_nodes: Nodes) -> None:  # noqa: F811
    graph = str(graphs / "features")
    where = ("--engine", "ray", "--address", ray_nodes.address)
    assert cli("patch", graph, "--out", "local").code == 0
    outcome = cli("patch", graph, "--out", "p", *where)
    assert outcome.code == 0, outcome.err
    assert "600 patches of 9 nodes" in outcome.out
    assert contents(Path("p")) == contents(Path("local"))
    assert PatchStore.open("p").patches().num_nodes == 600
    run = ("train", graph, "--patches", "p", "--out", "run", "--workers", "2", *SETS)
    summary = cli(*run, "--no-report", "--json", *where).json()
    assert summary["model"] == "fast-herofilter"
    assert summary["splits"] == [0]
    local = cli("predict", "run", "--out", "all.parquet", "--patches", "p")
    assert local.code == 0, local.err
    outcome = cli("predict", "run", "--patches", "p", "--out", "parts", *where)
    assert (outcome.code, outcome.out) == (0, "600 nodes: parts\n")
    found = pyarrow.parquet.read_table("parts/part-00000.parquet")
    expected = pyarrow.parquet.read_table("all.parquet")
    assert found["prediction"].equals(expected["prediction"])


@pytest.mark.part("ray")
def test_what_ray_cannot_train_is_refused(cli: Cli, graphs: Path) -> None:  # noqa: F811
    message = cli("train", str(graphs / "features"), "--engine", "ray").error()
    assert message.startswith("with --engine ray the model must be fast-herofilter with --patches")
    run = ("train", "karate", "--patches", "p", "--model", "gcn", "--engine", "ray")
    assert "(got gcn, patches p)" in cli(*run).error()


def test_no_cluster_answers(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    ray = pytest.importorskip("ray", reason="Ray isn't installed")

    def refuse(**_: object) -> None:
        raise ConnectionError("Could not connect\nto it")

    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    where = ("--engine", "ray", "--address", "h:1", "--json")
    message = cli("patch", "karate", "--out", "p", *where).error()
    assert message == (
        "a Ray cluster must answer at h:1 (Could not connect); start one with: ray start --head"
    )
