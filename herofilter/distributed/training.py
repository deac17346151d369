"""Training by several processes: one function, which torchrun and Ray Train start alike."""

import json
import os
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from herofilter.callbacks import Callback
from herofilter.config import Config
from herofilter.data import is_graph_path, load_dataset
from herofilter.distributed.ray_engine import connected
from herofilter.errors import ConfigError, HeroFilterError, RunError
from herofilter.files import write_text
from herofilter.patchers import PatchStore
from herofilter.training.artifacts.checkpoint import EVERY
from herofilter.training.artifacts.graph_reference import GraphSource
from herofilter.training.artifacts.locate import RECORDS
from herofilter.training.protocol import train_splits
from herofilter.training.search.presets import graph_name
from herofilter.training.team import SHARES, Team

MODEL = "fast-herofilter"
# what differs from the defaults of other trainings: nothing here reads edges
DEFAULTS = Config().replace(patcher="fast", summary=False)
# how often Ray starts the workers again, each time from the last checkpoint
MAX_FAILURES = 8
ERROR = "error.txt"


@dataclass(frozen=True)
class TrainJob:
    """What is trained, in plain values; paths must be the same on every machine.

    Args:
        graph: a dataset's name, or the path of a graph folder or an npz file.
        patches: the folder that ``herofilter patch`` made of it.
        out: the run folder.
        config: :meth:`~herofilter.config.Config.to_dict` of the settings.
        splits: of the graph.
        shares: of a batch, see :mod:`herofilter.training.team`.
        checkpoint_every: seconds between two checkpoints at least.
    """

    graph: str
    patches: str
    out: str
    config: dict[str, Any]
    splits: tuple[int, ...] = (0,)
    shares: int = SHARES
    checkpoint_every: float = EVERY


def train_in_team(job: TrainJob, callback: Callback | None = None) -> dict[str, Any]:
    """Train as one process of torch.distributed's group, and return the summary of the run.

    All processes read patches and features from disk, each those of its shares of a batch. The
    first one writes the run folder.
    """
    team, config = Team(job.shares), Config.from_dict(job.config)
    if config.model.summary or config.model.label_shares:
        raise ConfigError(
            "summary and label_shares must be off when workers train together, since they read all "
            "edges at every step (got one that is on); set summary=false and label_shares=false"
        )
    return train_splits(
        load_dataset(job.graph, split=None),
        MODEL,
        config,
        job.splits,
        graph_name(job.graph),
        job.out,
        callback if team.first else None,
        checkpoint_every=job.checkpoint_every,
        source=GraphSource.at(job.graph, None),
        patches=PatchStore.open(job.patches),
        team=team,
    )


def train_on_ray(job: TrainJob, workers: int = 2, address: str | None = None) -> dict[str, Any]:
    """Train with Ray Train's workers and return the summary of the run.

    When a machine is lost, Ray starts all workers again where there is room for them, and they
    continue from the last checkpoint in the run folder.

    Args:
        job: what is trained.
        workers: processes, each of one core.
        address: see :func:`~herofilter.distributed.ray_engine.connected`.
    """
    scratch = _scratch(job)
    shutil.rmtree(scratch, ignore_errors=True)
    with connected(address) as ray:
        _check_cores(int(ray.cluster_resources().get("CPU", 0)), workers, address)
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer

        trainer = TorchTrainer(
            _ray_worker,
            train_loop_config=asdict(job),
            scaling_config=ScalingConfig(num_workers=workers),
            torch_config=TorchConfig(backend="gloo"),
            run_config=RunConfig(
                name="train",
                storage_path=str(scratch),
                failure_config=FailureConfig(max_failures=MAX_FAILURES),
            ),
        )
        try:
            trainer.fit()
            if (scratch / ERROR).exists():
                raise RunError((scratch / ERROR).read_text(encoding="utf-8"))
        except HeroFilterError:
            raise
        except Exception as error:
            # the class of Ray Train's error depends on its version
            raise RunError(
                "the workers of Ray Train must finish, but they failed again and again "
                f"({str(error).partition(chr(10))[0]}); run the command again, it continues"
            ) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    found: dict[str, Any] = json.loads((Path(job.out) / RECORDS).read_text(encoding="utf-8"))
    return found


def _check_cores(cores: int, workers: int, address: str | None) -> None:
    if cores >= workers:
        return
    if not (address or os.environ.get("RAY_ADDRESS")):
        raise ConfigError(
            f"workers must be at most {cores}, the cores of this machine (got {workers}); "
            "give fewer --workers, or the --address of a larger cluster"
        )
    # it may be growing
    warnings.warn(
        f"training begins once the cluster has a core for each of {workers} workers (it has "
        f"{cores})",
        stacklevel=3,
    )


def _ray_worker(config: dict[str, Any]) -> None:
    job = TrainJob(**{**config, "splits": tuple(config["splits"])})
    try:
        train_in_team(job)
    except HeroFilterError as error:
        # not raised: Ray would start the workers again, and they would say the same again
        write_text(_scratch(job) / ERROR, str(error))


def _scratch(job: TrainJob) -> Path:
    """Return the folder where Ray keeps its record of the workers."""
    return Path(f"{Path(job.out).resolve()}.ray")


def join_torchrun() -> None:
    """Join the group of processes that torchrun started; one process alone is a group, too."""
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    else:
        store = torch.distributed.HashStore()  # type: ignore[attr-defined]
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)


def make_job(
    graph: str,
    patches: Path,
    out: Path,
    config: Config,
    splits: Sequence[int] = (0,),
    shares: int = SHARES,
) -> TrainJob:
    """Return a job from what a user types, with paths that don't depend on the working folder."""
    place = Path(graph).expanduser()
    return TrainJob(
        str(place.resolve()) if is_graph_path(graph) else graph,
        str(patches.resolve()),
        str(out.resolve()),
        config.to_dict(),
        tuple(splits),
        shares,
    )
