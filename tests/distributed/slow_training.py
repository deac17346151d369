"""A program that trains on Ray and writes a checkpoint after every step."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from herofilter.distributed.training import DEFAULTS, TrainJob, make_job, train_on_ray


def long_job(graphs: Path, out: Path) -> TrainJob:
    settings = ["epochs=60", "patience=60", "batch_size=64", "hidden_channels=16"]
    config = DEFAULTS.with_settings(settings)
    job = make_job(str(graphs / "features"), graphs / "patches-features", out, config)
    return replace(job, checkpoint_every=0.0)


if __name__ == "__main__":
    address, folder, out = sys.argv[1:]
    print(json.dumps(train_on_ray(long_job(Path(folder), Path(out)), 2, address)))
