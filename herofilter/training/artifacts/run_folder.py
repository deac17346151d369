"""The folder of a run: written after every split, so that nothing finished is lost."""

import math
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import yaml
from torch_geometric.data import Data

from herofilter.data import select_split
from herofilter.errors import RunError
from herofilter.files import load_tensors, read_yaml, write_json, write_text
from herofilter.folders import entries
from herofilter.scratch import remove_strays
from herofilter.training.artifacts.checkpoint import EVERY, Checkpoint
from herofilter.training.artifacts.environment import environment
from herofilter.training.artifacts.graph_reference import (
    REFERENCE,
    GraphReference,
    GraphSource,
    content_of,
)
from herofilter.training.artifacts.locate import EARLIER, RECORDS, RUN, split_folder
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.result_store import DocumentStore, Record, differing
from herofilter.training.artifacts.sealed_folder import open_sealed

GRAPH = "graph"


class _DiffersError(RunError):
    """The folder holds another run."""


class RunFolder:
    """A folder with ``config.yaml``, ``metrics.json``, ``environment.json`` and a model folder
    for each finished split, such as ``split-0``.

    Opening a folder that holds the same run continues it; one that holds another run is an
    error, so that no result is overwritten. Nothing is written before the first split is done,
    or its first checkpoint due; a checkpoint is there as long as its split is under way.

    Args:
        path: the folder; made when absent.
        header: what identifies the run: graph, model, configuration.
        data: the graph, with the masks of all splits, as it was read.
        source: where it was loaded from; without one, the folder keeps a copy of the graph, which
            its models share.
    """

    def __init__(
        self,
        path: Path,
        header: dict[str, Any],
        data: Data,
        source: GraphSource | None = None,
    ) -> None:
        self.path, self.header = path, header
        self.data, self.source = data, source
        self.store = DocumentStore(path / RECORDS)
        remove_strays(path)
        if (path / RUN).exists():
            self._open(header)
        elif path.exists() and (not path.is_dir() or entries(path)):
            raise RunError(
                f"the run folder must be new, empty or a run to continue (got {path}); "
                "give another --out"
            )

    @property
    def records(self) -> dict[str, Record]:
        """The metrics of the finished splits."""
        return self.store.records

    def add(self, split: int, metrics: dict[str, Any], saved: SavedModel) -> None:
        """Write one finished split as a model folder, and before the first one what the run is."""
        write_header(self.path, self.header)
        reference = self._reference.with_parts(select_split(self.data, split))
        replace(saved, reference=reference).save(split_folder(self.path, split))
        # last: a split counts as finished once its metrics are there
        self.store.add(str(split), metrics)
        self._checkpoint_path(str(split)).unlink(missing_ok=True)

    @cached_property
    def _reference(self) -> GraphReference:
        """Where the graph is; a copy is written if it is nowhere else."""
        if self.source is not None:
            return GraphReference.to(self.source, self.data)
        return GraphReference.to_copy(self.data, self.path / GRAPH, f"../{GRAPH}")

    def checkpoint(self, split: str, every: float = EVERY) -> Checkpoint:
        """Return the checkpoint of a split, written every so many seconds."""
        return Checkpoint(
            self._checkpoint_path(split),
            {**self.header, "split": split},
            every,
            announce=partial(write_header, self.path, self.header),
        )

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the summary over all splits beside them."""
        self.store.before = summary
        self.store.write()

    def _open(self, header: dict[str, Any]) -> None:
        try:
            known = read_yaml(self.path / RUN)
            if differing(header, known):
                raise _DiffersError(
                    f"{self.path} must hold the same run to be continued, but its configuration "
                    "differs; give another --out"
                )
            if self.store.path.exists():
                self.store.read()
                self._check_splits()
            for split in self.records:
                # killed after the split was written
                self._checkpoint_path(split).unlink(missing_ok=True)
        except _DiffersError:
            raise
        except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError, RunError) as error:
            raise RunError(
                f"{self.path} must hold a readable run to be continued "
                f"({str(error).partition(chr(10))[0]}); "
                "give another --out"
            ) from error

    def _check_splits(self) -> None:
        """Raise an error unless the model of every finished split is as it was written."""
        references = []
        # an earlier version had the weights of all splits in one file
        earlier = (self.path / EARLIER).exists() and load_tensors(self.path / EARLIER)[0]
        for split in self.records:
            folder = split_folder(self.path, split)
            held = earlier and any(name.startswith(f"split-{split}.") for name in earlier)
            if folder.exists() or not held:
                open_sealed(folder, (REFERENCE,))
                references.append(GraphReference.read(folder))
        if references and references[0].given != content_of(self.data):
            raise _DiffersError(
                f"{self.path} must hold the same run to be continued, but its graph differs; "
                "give another --out"
            )

    def _checkpoint_path(self, split: str) -> Path:
        return _checkpoint_path(self.path, split)


def follow_checkpoint(path: Path, header: dict[str, Any], split: str) -> Checkpoint:
    """Return the checkpoint of a split in another process's run folder: read, never written."""
    return Checkpoint(_checkpoint_path(path, split), {**header, "split": split}, every=math.inf)


def _checkpoint_path(path: Path, split: str) -> Path:
    return path / f"checkpoint-{split}.safetensors"


def write_header(path: Path, header: dict[str, Any]) -> None:
    """Write configuration and environment of a run into its folder, unless they are there."""
    if not (path / RUN).exists():
        write_text(path / RUN, yaml.safe_dump(header, sort_keys=False))
    if not (path / "environment.json").exists():
        write_json(path / "environment.json", environment())
