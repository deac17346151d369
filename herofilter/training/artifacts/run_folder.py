"""The folder of a run: written after every split, so that nothing finished is lost."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from torch import Tensor

from herofilter.errors import RunError
from herofilter.files import load_tensors, save_tensors, write_json, write_text
from herofilter.training.artifacts.checkpoint import EVERY, Checkpoint
from herofilter.training.artifacts.environment import environment
from herofilter.training.artifacts.result_store import DocumentStore, Record, differing

_FILES = r"config\.yaml|environment\.json|metrics\.json|history\.json|\S+\.safetensors"
# the scratch files of a write that was killed, see atomic_path
_SCRATCH = re.compile(rf"\.({_FILES})\.[a-z0-9_]{{8}}")
# those of safetensors, which may belong to another program where there is no run
_SCRATCH_OF_TENSORS = re.compile(r"\.tmp[A-Za-z0-9]{6}")


class RunFolder:
    """A folder with ``config.yaml``, ``metrics.json``, ``history.json``,
    ``weights.safetensors`` and ``environment.json``.

    Opening a folder that holds the same run continues it; one that holds another run is an
    error, so that no result is overwritten. Nothing is written before the first split is done,
    or its first checkpoint due; a checkpoint is there as long as its split is under way.

    Args:
        path: the folder; made when absent.
        header: what identifies the run: graph, model, configuration.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        self.header = header
        self.store = DocumentStore(path / "metrics.json")
        self.history: dict[str, Any] = {}
        self.weights: dict[str, Tensor] = {}
        _remove_scratch(path)
        if (path / "config.yaml").exists():
            self._open(header)
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RunError(
                f"the run folder must be new, empty or a run to continue (got {path}); "
                "give another --out"
            )

    @property
    def records(self) -> dict[str, Record]:
        """The metrics of the finished splits."""
        return self.store.records

    def add(
        self,
        split: str,
        metrics: dict[str, Any],
        history: list[dict[str, Any]],
        state: dict[str, Tensor],
    ) -> None:
        """Write one finished split, and before the first one what the run is."""
        write_header(self.path, self.header)
        self.history[split] = history
        self.weights.update({f"split-{split}.{key}": value for key, value in state.items()})
        save_tensors(self.path / "weights.safetensors", self.weights)
        write_json(self.path / "history.json", self.history)
        # last: a split counts as finished once its metrics are there
        self.store.add(split, metrics)
        self._checkpoint_path(split).unlink(missing_ok=True)

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
            known = yaml.safe_load((self.path / "config.yaml").read_text(encoding="utf-8"))
            if differing(header, known):
                raise RunError(
                    f"{self.path} must hold the same run to be continued, but its configuration "
                    "differs; give another --out"
                )
            if self.store.path.exists():
                self.store.read()
                self.history = json.loads((self.path / "history.json").read_text())
                self.weights, _ = load_tensors(self.path / "weights.safetensors")
            for split in self.records:
                # killed after the split was written
                self._checkpoint_path(split).unlink(missing_ok=True)
        except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
            raise RunError(
                f"{self.path} must hold a readable run to be continued "
                f"({str(error).partition(chr(10))[0]}); "
                "give another --out"
            ) from error

    def _checkpoint_path(self, split: str) -> Path:
        return self.path / f"checkpoint-{split}.safetensors"


def write_header(path: Path, header: dict[str, Any]) -> None:
    """Write configuration and environment of a run into its folder, unless they are there."""
    if not (path / "config.yaml").exists():
        write_text(path / "config.yaml", yaml.safe_dump(header, sort_keys=False))
    if not (path / "environment.json").exists():
        write_json(path / "environment.json", environment())


def _remove_scratch(path: Path) -> None:
    is_run = (path / "config.yaml").exists()
    for entry in path.iterdir() if path.is_dir() else ():
        ours = _SCRATCH.fullmatch(entry.name)
        if ours or (is_run and _SCRATCH_OF_TENSORS.fullmatch(entry.name)):
            entry.unlink(missing_ok=True)
