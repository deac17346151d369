"""Training by several processes: the same weights, whoever computes them and whatever is lost."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from herofilter import load_dataset
from herofilter.config import Config
from herofilter.distributed import training
from herofilter.distributed.training import (
    DEFAULTS,
    TrainJob,
    join_torchrun,
    make_job,
    train_in_team,
    train_on_ray,
)
from herofilter.errors import ConfigError, RunError
from herofilter.files import load_tensors
from herofilter.nn.build import fast_patcher
from herofilter.patchers import write_patches
from herofilter.training.team import Team
from tests.distributed.conftest import ROOT, Nodes
from tests.distributed.slow_training import long_job
from tests.distributed.test_patches import wait_for

SETTINGS = ("epochs=4", "batch_size=64", "hidden_channels=16", "class_weights=true")


@pytest.fixture(scope="session")
def patched(graphs: Path) -> Path:
    """The graphs, with their patches beside them."""
    for name in ("features", "bare"):
        data = load_dataset(graphs / name, split=None)
        patcher = fast_patcher(data, Config().replace(patcher="fast"))
        write_patches(patcher, data, graphs / f"patches-{name}")
    return graphs


@contextmanager
def alone() -> Iterator[None]:
    """Let this process be a group of one."""
    join_torchrun()
    try:
        yield
    finally:
        dist.destroy_process_group()


def job_of(patched: Path, name: str, out: Path, *settings: str) -> TrainJob:
    config = DEFAULTS.with_settings([*SETTINGS, *settings])
    return make_job(str(patched / name), patched / f"patches-{name}", out, config)


def weights(run: Path) -> dict[str, Tensor]:
    return load_tensors(run / "split-0" / "weights.safetensors")[0]


def assert_same(found: Path, expected: Path) -> None:
    one, other = weights(found), weights(expected)
    assert one.keys() == other.keys()
    for name, value in one.items():
        # the promise; with the same kernels on both sides they are equal to the bit
        assert float((value.double() - other[name].double()).abs().max()) <= 1e-5, name


def torchrun(workers: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={workers}"]
    command += ["--master-addr=127.0.0.1", "--master-port=0", "--rdzv-backend=c10d"]
    command += ["--rdzv-endpoint=127.0.0.1:0", "-m", "herofilter.distributed.train", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_a_team_of_one_learns_and_continues(patched: Path, tmp_path: Path) -> None:
    with alone():
        found = train_in_team(job_of(patched, "features", tmp_path / "run", "epochs=40"))
        assert found["val_accuracy"]["mean"] > 0.5
        again = train_in_team(job_of(patched, "features", tmp_path / "run", "epochs=40"))
        assert again["test_accuracy"] == found["test_accuracy"]


def test_shares_are_the_same_for_any_number_of_workers(monkeypatch) -> None:
    nodes = torch.arange(21)
    with alone():
        whole = Team(8)
        parts = [rows.unsqueeze(1).float() for rows in whole.own(nodes)]
        assert torch.equal(whole.join(nodes, parts).view(-1), nodes.float())
        monkeypatch.setattr(dist, "get_world_size", lambda: 2)
        halves = [Team(8) for _ in range(2)]
        halves[1].rank = 1
        both = [
            share for pair in zip(*(h.own(nodes) for h in halves), strict=True) for share in pair
        ]
        assert [share.tolist() for share in both] == [share.tolist() for share in whole.own(nodes)]
        with pytest.raises(ConfigError, match=r"shares must be a multiple of the 2 workers"):
            Team(3)


def test_what_needs_all_edges_is_refused(patched: Path, tmp_path: Path) -> None:
    with alone(), pytest.raises(ConfigError, match="summary and label_shares must be off"):
        train_in_team(job_of(patched, "features", tmp_path, "summary=true"))


def test_patches_of_another_graph_are_refused(patched: Path, tmp_path: Path) -> None:
    job = replace(job_of(patched, "features", tmp_path / "run"), graph="karate")
    with alone(), pytest.raises(RunError, match="must hold patches of this graph"):
        train_in_team(job)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["features", "bare"])
def test_two_workers_match_one(patched: Path, tmp_path: Path, name: str) -> None:
    with alone():
        train_in_team(job_of(patched, name, tmp_path / "one"))
    sets = [part for setting in SETTINGS for part in ("--set", setting)]
    where = ["--patches", str(patched / f"patches-{name}"), "--out", str(tmp_path / "two")]
    ended = torchrun(2, str(patched / name), *where, *sets)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("test accuracy ")
    assert_same(tmp_path / "two", tmp_path / "one")
    # vectors of nodes without features are learned row by row
    assert ("stem.embedding.weight" in weights(tmp_path / "two")) == (name == "bare")


@pytest.mark.slow
def test_mistakes_under_torchrun_are_sentences(patched: Path, tmp_path: Path) -> None:
    where = ["--patches", str(tmp_path / "none"), "--out", str(tmp_path / "run")]
    ended = torchrun(1, str(patched / "features"), *where)
    assert ended.returncode != 0
    assert "error: " in ended.stderr
    assert "must be a folder of patches" in ended.stderr


def test_more_workers_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    training._check_cores(2, 2, None)
    with pytest.raises(ConfigError, match=r"workers must be at most 2, the cores of this machine"):
        training._check_cores(2, 3, None)
    with pytest.warns(UserWarning, match=r"once the cluster has a core for each of 3 workers"):
        training._check_cores(2, 3, "10.0.0.1:6379")


@pytest.mark.slow
def test_a_node_is_lost_in_training(patched: Path, tmp_path: Path, ray_nodes: Nodes) -> None:
    with alone():
        train_in_team(replace(long_job(patched, tmp_path / "expected"), checkpoint_every=30.0))
    out = tmp_path / "run"
    command = [sys.executable, "-m", "tests.distributed.slow_training", ray_nodes.address]
    driver = subprocess.Popen([*command, str(patched), str(out)], cwd=ROOT)
    try:
        wait_for((out / "checkpoint-0.safetensors").exists, 90)
        assert not (out / "metrics.json").exists()
        ray_nodes.lose()
        # one of the two workers is gone, and without it no step is made
        assert not (out / "metrics.json").exists()
        ray_nodes.fill()
        assert driver.wait(150) == 0
    finally:
        driver.kill()
        driver.wait(10)
    assert_same(out, tmp_path / "expected")
    assert not Path(f"{out}.ray").exists()


@pytest.mark.slow
def test_mistakes_on_ray_are_sentences(
    patched: Path, tmp_path: Path, ray_nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = replace(job_of(patched, "features", tmp_path / "run"), graph="karate")
    with pytest.raises(RunError, match="must hold patches of this graph"):
        train_on_ray(job, 1, ray_nodes.address)
    # what no sentence was written for is Ray's to tell, once it has been tried again
    monkeypatch.setattr(training, "MAX_FAILURES", 0)
    broken = replace(job, shares="many")  # type: ignore[arg-type]
    with pytest.raises(RunError, match="the workers of Ray Train must finish"):
        train_on_ray(broken, 1, ray_nodes.address)
