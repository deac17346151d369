"""Jobs that take long enough to be killed, and a program that makes patches by them."""

import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from torch_geometric.data import Data

from herofilter.data import csbm
from herofilter.distributed.patches import ShardJob, make_shard, shards_by
from herofilter.distributed.ray_engine import ray_jobs
from herofilter.patchers import FastPatcher, write_patches

PATCHER = FastPatcher(
    6, method="push", directed="keep", relations=("out", "in", "cocitation"), tolerance=1e-3
)
SHARD_ROWS = 60


def graph() -> Data:
    return csbm(num_nodes=900, num_classes=3, directed=True)


def slow_shard(job: ShardJob) -> int:
    time.sleep(0.3)
    return make_shard(job)


def slow_engine(address: str, _: Any, jobs: Sequence[ShardJob]) -> Iterator[int]:
    return ray_jobs(slow_shard, jobs, address)


if __name__ == "__main__":
    make = shards_by(partial(slow_engine, sys.argv[1]))
    write_patches(PATCHER, graph(), sys.argv[2], shard_rows=SHARD_ROWS, make=make)
