"""Predictions of all nodes as Parquet files, one per part of the nodes, each made by one job."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from herofilter.callbacks import Callback, notify
from herofilter.data.tables.table_columns import TableColumns
from herofilter.distributed.engine import Engine
from herofilter.errors import RunError
from herofilter.files import write_json
from herofilter.patchers import PatchStore
from herofilter.predict.tables import Predicted, predict_tables
from herofilter.training.artifacts.sealed_folder import SEAL
from herofilter.training.predictor import Predictor
from herofilter.training.protocol import check_patched

ABOUT = "parts.json"
PART_ROWS = 65536
_USUAL = TableColumns()


@dataclass(frozen=True)
class Source:
    """What is predicted: a model folder and, for another graph than its own, tables.

    ``patches`` are those of the model's own graph, if they are in a folder.
    """

    model: Path
    patches: Path | None = None
    edges: Path | None = None
    nodes: Path | None = None
    columns: TableColumns = _USUAL

    @property
    def stamp(self) -> str:
        """A hash of the model's seal and of the tables' sizes and times."""
        digest = hashlib.blake2b((self.model / SEAL).read_bytes(), digest_size=16)
        for table in (self.edges, self.nodes):
            about = None if table is None else table.stat()
            found = None if about is None else (about.st_size, about.st_mtime_ns)
            digest.update(f"{table}:{found};".encode())
        digest.update(f"{self.columns};{self.patches}".encode())
        return digest.hexdigest()


@dataclass(frozen=True)
class PartJob:
    """Some of the nodes to predict, ``start`` to ``stop``, and the file to write."""

    source: Source
    stamp: str
    start: int
    stop: int
    part: Path


def predict_part(job: PartJob) -> int:
    """Write the predictions of a part into its file and return how many there are."""
    predicted, count = _predicted(job.source, job.stamp), job.stop - job.start
    rows = predicted.nodes[job.start : job.stop]
    replace(predicted, ids=predicted.ids.slice(job.start, count), nodes=rows).write(job.part)
    return count


def predict_parts(
    source: Source,
    out: Path,
    engine: Engine,
    callback: Callback | None = None,
    part_rows: int = PART_ROWS,
) -> tuple[int, tuple[str, ...]]:
    """Write the predictions of all nodes into a folder, or those that are missing there.

    Args:
        source: what is predicted.
        out: the folder; ``part-00000.parquet`` has the first nodes.
        engine: runs the jobs.
        callback: takes events of stage ``rows``: rows that are written.
        part_rows: nodes per part.

    Returns:
        The number of nodes, and what was assumed about tables, one sentence each.
    """
    out, stamp = out.resolve(), source.stamp
    predicted = _predicted(source, stamp)
    count = len(predicted.ids)
    _begin(out, {"source": stamp, "nodes": count, "part_rows": part_rows})
    jobs = [
        PartJob(source, stamp, start, min(start + part_rows, count), _part(out, start // part_rows))
        for start in range(0, max(count, 1), part_rows)
    ]
    # a part appears complete or not at all
    missing = [job for job in jobs if not job.part.exists()]
    done = count - sum(job.stop - job.start for job in missing)
    for rows in _run(engine, missing):
        done += rows
        notify(callback, "rows", done, count)
    return count, predicted.notes


def _run(engine: Engine, jobs: list[PartJob]) -> Iterator[int]:
    yield from engine(predict_part, jobs)


def _part(out: Path, number: int) -> Path:
    return out / f"part-{number:05d}.parquet"


def _begin(out: Path, about: dict[str, str | int]) -> None:
    try:
        known = json.loads((out / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = None
    if known is None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(
            f"the folder of predictions must be new, empty or one to continue (got {out}); "
            "give another --out"
        )
    if known is not None and known != about:
        raise RunError(
            f"{out} must hold predictions of the same model and nodes to be continued, but it "
            "holds others; give another --out"
        )
    write_json(out / ABOUT, about)


def load_predictor(model: Path, patches: Path | None = None) -> Predictor:
    """Return the model in a folder; it reads the patches of its own graph, if they are given."""
    predictor = Predictor.load(model)
    if patches is not None:
        store, saved = PatchStore.open(patches), predictor.saved
        check_patched(store, predictor.data, saved.model, saved.config)
        predictor.prepared.patch_store = store
    return predictor


# the network of the last job, which the next one in this process needs again
_held: dict[str, Predicted] = {}


def _predicted(source: Source, stamp: str) -> Predicted:
    if stamp not in _held:
        _held.clear()
        predictor = load_predictor(source.model, source.patches)
        _held[stamp] = predict_tables(predictor, source.edges, source.nodes, source.columns)
    return _held[stamp]
