"""The cost model: its figures are those of the recorded measurements, and fit other sizes."""

import json
import sys
from pathlib import Path

import pytest

from herofilter.distributed import cost
from herofilter.distributed.cost import EPOCH_US, INFERENCE_US, NS_PER_EDGE, Job, at_size, table
from herofilter.patchers import FastPatcher
from herofilter.patchers.forms import make_form
from tests.patchers.ppr.test_push import random_adjacency

ROOT = Path(__file__).parents[2]
# counted with FastPatcher(16) on 1000 sources of each graph
EDGES = {100_000: 5084, 300_000: 4918, 1_000_000: 4945, 2_923_922: 5068}


def core_microseconds(stage: str) -> dict[int, float]:
    lines = json.loads((ROOT / "results" / "scale.json").read_text())["by_size"][stage]
    # half of the nodes of these graphs are training nodes
    share = 0.5 if stage == "epoch" else 1.0
    return {e["nodes"]: 1e6 * e["seconds"] * e["threads"] / (share * e["nodes"]) for e in lines}


def test_figures_are_those_of_the_record() -> None:
    arxiv = json.loads((ROOT / "results" / "patcher.json").read_text())
    prepared = arxiv["ours"][0]["setup_seconds"] / arxiv["entries"]
    assert pytest.approx(1e9 * prepared, rel=0.01) == cost.PREPARE_NS
    patcher = core_microseconds("patcher")
    for nodes, value in NS_PER_EDGE.items():
        assert value == pytest.approx(1000 * patcher[nodes] / EDGES[nodes], rel=0.01)
    for stage, known in (("epoch", EPOCH_US), ("inference", INFERENCE_US)):
        for nodes, value in known.items():
            assert value == pytest.approx(core_microseconds(stage)[nodes], rel=0.01)


@pytest.mark.parametrize("nodes", [300_000, 2_923_922])
def test_the_model_fits_sizes_that_it_was_not_made_from(nodes: int) -> None:
    predicted = EDGES[nodes] * at_size(NS_PER_EDGE, nodes) / 1000
    assert predicted == pytest.approx(core_microseconds("patcher")[nodes], rel=0.1)
    assert at_size(EPOCH_US, nodes) == pytest.approx(core_microseconds("epoch")[nodes], rel=0.25)
    found = core_microseconds("inference")[nodes]
    assert at_size(INFERENCE_US, nodes) == pytest.approx(found, rel=0.2)


def test_bytes_are_those_of_the_arrays(monkeypatch) -> None:
    monkeypatch.setattr("herofilter.patchers.ppr.push_table.TABLE_FROM", 10)
    adjacency = random_adjacency(200)
    adjacency.data[:] = 1.0
    arrays = make_form("push", adjacency).arrays
    size = sum(array.nbytes for name, array in arrays.items() if name != "symmetric")
    assert size == 36 * 200 + 8 * adjacency.nnz + 8 + 4
    job = Job(10**8, 2 * 10**9)
    estimate = FastPatcher(16).memory(job.nodes, job.edges)
    # two measurements: an estimate is to be within a factor of 1.5
    assert 1 / 1.5 < job.bytes()["memory to prepare"] / estimate < 1.5


def test_more_machines_take_less_time_but_for_what_one_does() -> None:
    job = Job(10**8, 2 * 10**9)
    hours = [job.hours(machines, 16) for machines in (1, 4, 16, 64)]
    assert hours == sorted(hours, reverse=True)
    assert hours[-1] > job.core_hours()["prepare"]
    assert job.network(4)["patches"] == job.network(1)["patches"]


def test_the_table_in_the_docs_is_what_the_command_prints(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["cost"])
    cost.main()
    printed = capsys.readouterr().out
    assert printed == table(Job(10**8, 2 * 10**9)) + "\n"
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    shown = [line.removeprefix("    ") for line in page.splitlines() if line.startswith("    ")]
    assert set(printed.splitlines()) - {""} <= set(shown)
