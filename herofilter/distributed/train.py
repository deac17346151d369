"""The program that torchrun starts: ``torchrun -m herofilter.distributed.train GRAPH …``."""

import argparse
import sys
from pathlib import Path

import torch.distributed as dist

from herofilter.distributed.training import DEFAULTS, join_torchrun, make_job, train_in_team
from herofilter.errors import HeroFilterError
from herofilter.harmless import harmless
from herofilter.report.progress import TrainBar
from herofilter.training.team import SHARES


def main() -> None:
    """Train fast-herofilter in every process that torchrun started."""
    parser = argparse.ArgumentParser(
        prog="torchrun -m herofilter.distributed.train", description=main.__doc__
    )
    parser.add_argument("graph", help="a dataset's name, an npz file or a graph folder")
    parser.add_argument("--patches", type=Path, required=True, help="of herofilter patch")
    parser.add_argument("--out", type=Path, required=True, help="run folder")
    parser.add_argument("--splits", type=int, nargs="*", default=[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", dest="settings", action="append", default=[], help="key=value")
    parser.add_argument("--shares", type=int, default=SHARES, help="of each batch")
    given = parser.parse_args()
    join_torchrun()
    try:
        config = DEFAULTS.replace(seed=given.seed).with_settings(given.settings)
        where = (given.graph, given.patches, given.out)
        job = make_job(*where, config, given.splits, given.shares)
        epochs = int(job.config["train"]["epochs"])
        with TrainBar(given.graph, job.splits, epochs) as bar:
            summary = train_in_team(job, bar)
        if dist.get_rank() == 0:
            accuracy = 100 * summary["test_accuracy"]["mean"]
            print(f"test accuracy {accuracy:.1f} %; written to {job.out}")
    except HeroFilterError as error:
        print(harmless(f"error: {error}"), file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
