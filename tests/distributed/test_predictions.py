"""Predictions in parts: those of one process, and only what is missing is made."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from herofilter import FastPatcher, csbm, load_dataset, train_splits, write_patches
from herofilter.config import Config
from herofilter.distributed.predictions import Source, load_predictor, predict_parts
from herofilter.distributed.ray_engine import ray_jobs
from herofilter.errors import RunError
from herofilter.parallel.processes import run_jobs
from herofilter.predict.tables import predict_tables
from herofilter.training.artifacts.graph_reference import GraphSource
from tests.distributed.conftest import Nodes
from tests.distributed.test_training import patched as patched

HERE = partial(run_jobs, workers=1)


@pytest.fixture(scope="module")
def model(patched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "run"
    graph = str(patched / "features")
    config = Config().with_settings(["epochs=3", "summary=false"])
    source = GraphSource.at(graph, None)
    train_splits(
        load_dataset(graph, split=None), "fast-herofilter", config, out=folder, source=source
    )
    return folder / "split-0"


def rows_of(folder: Path) -> pa.Table:
    parts = sorted(folder.glob("part-*.parquet"))
    return pa.concat_tables([pyarrow.parquet.read_table(part) for part in parts])


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    assert found.column_names == expected.column_names
    for name in ("id", "label", "part", "prediction"):
        assert found[name].equals(expected[name])
    for name in expected.column_names[4:]:
        np.testing.assert_allclose(found[name].to_numpy(), expected[name].to_numpy(), atol=2e-6)


def test_parts_are_the_table_of_one_process(model: Path, patched: Path, tmp_path: Path) -> None:
    predict_tables(load_predictor(model)).write(tmp_path / "all.parquet")
    source = Source(model, patches=patched / "patches-features")
    assert predict_parts(source, tmp_path / "parts", HERE, part_rows=250) == (600, ())
    names = [f"part-0000{number}.parquet" for number in range(3)]
    assert sorted(path.name for path in (tmp_path / "parts").glob("part*.parquet")) == names
    assert_same(rows_of(tmp_path / "parts"), pyarrow.parquet.read_table(tmp_path / "all.parquet"))


def test_only_missing_parts_are_made(model: Path, tmp_path: Path) -> None:
    made: list[int] = []

    def count(function: Callable[..., Any], jobs: Sequence[Any]) -> Any:
        made.extend(job.start for job in jobs)
        return HERE(function, jobs)

    events: list[Any] = []
    predict_parts(Source(model), tmp_path, count, part_rows=250)
    (tmp_path / "part-00001.parquet").unlink()
    predict_parts(Source(model), tmp_path, count, events.append, part_rows=250)
    assert made == [0, 250, 500, 250]
    assert [(event.done, event.total) for event in events] == [(600, 600)]
    with pytest.raises(RunError, match="must hold predictions of the same model and nodes"):
        predict_parts(Source(model), tmp_path, HERE, part_rows=100)


def test_other_folders_and_patches_are_refused(model: Path, patched: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match="must be new, empty or one to continue"):
        predict_parts(Source(model), tmp_path, HERE)
    data = csbm(num_nodes=70)
    write_patches(FastPatcher(9), data, tmp_path / "patches")
    with pytest.raises(RunError, match="must hold patches of this graph, with 600 nodes"):
        load_predictor(model, tmp_path / "patches")


@pytest.mark.slow
def test_on_ray(model: Path, patched: Path, tmp_path: Path, ray_nodes: Nodes) -> None:
    source = Source(model, patches=patched / "patches-features")
    predict_parts(source, tmp_path / "here", HERE, part_rows=100)
    engine = partial(ray_jobs, address=ray_nodes.address)
    predict_parts(source, tmp_path / "ray", engine, part_rows=100)
    assert_same(rows_of(tmp_path / "ray"), rows_of(tmp_path / "here"))
