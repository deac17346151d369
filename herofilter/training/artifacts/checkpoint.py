"""A file from which a training that was killed continues, to the same result bit for bit."""

import json
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from herofilter.errors import RunError
from herofilter.files import DamagedFileError, load_tensors, save_tensors
from herofilter.training.artifacts.fingerprint import fingerprint
from herofilter.training.artifacts.result_store import differing
from herofilter.training.progress import Progress

EVERY = 30.0
# a large file is written more rarely, so that writing takes a twentieth of the time at most
_PAUSES = 20
_FORMAT = "1"


class CheckpointWarning(UserWarning):
    """A checkpoint couldn't be read or written; training goes on without it."""


class Checkpoint:
    """Saves the state of a training every so often, and restores it.

    A file that belongs to another training is refused; one that is damaged gives a
    warning, and training begins anew. Nothing in it is pickled.

    Args:
        path: the file.
        owner: what the training is: graph, model, configuration, split. The content of its
            graph is compared as well.
        every: seconds between two writes at least; 0 writes after each step.
        announce: called before the first write.
    """

    def __init__(
        self,
        path: Path,
        owner: Mapping[str, Any],
        every: float = EVERY,
        announce: Callable[[], None] | None = None,
    ) -> None:
        self.path, self.owner = path, dict(owner)
        self.every, self.announce = every, announce
        self.earlier = 0.0
        """Seconds of training before it was last stopped."""

    def start(self, progress: Progress, data: Data) -> None:
        """Restore ``progress`` from the file, if there is one; later writes save its state."""
        self._progress, self._data = progress, data
        self._data_hash = ""
        self.earlier = 0.0
        self._started = time.perf_counter()
        if self.path.exists():
            self._resume()
        self._due = time.perf_counter() + self.every

    def offer(self) -> None:
        """Write the file if the last write is long enough ago."""
        now = time.perf_counter()
        if now < self._due:
            return
        try:
            self._write(now)
        except OSError as error:
            warnings.warn(
                f"the checkpoint {self.path} couldn't be written ({error}); "
                "training goes on without it",
                CheckpointWarning,
                stacklevel=2,
            )
        end = time.perf_counter()
        self._due = end + (max(self.every, _PAUSES * (end - now)) if self.every else 0.0)

    def _write(self, now: float) -> None:
        if self.announce is not None:
            self.announce()
            self.announce = None
        scalars = {**self._progress.scalars(), "seconds": self.earlier + now - self._started}
        metadata = {
            "format": _FORMAT,
            "owner": json.dumps(self._complete_owner()),
            "numbers": json.dumps(scalars),
        }
        save_tensors(self.path, self._progress.tensors(), metadata)

    def _resume(self) -> None:
        try:
            tensors, metadata = load_tensors(self.path)
            if metadata["format"] != _FORMAT:
                raise ValueError("it was written by another version")
            owner = json.loads(metadata["owner"])
            self._check_owner(owner)
            scalars = json.loads(metadata["numbers"])
            seconds = float(scalars["seconds"])
            self._progress.resume(tensors, scalars)
        except (DamagedFileError, KeyError, TypeError, ValueError) as error:
            why = "it is damaged" if isinstance(error, DamagedFileError) else _sentence(error)
            warnings.warn(
                f"the checkpoint {self.path} can't be used ({why}); training begins anew",
                CheckpointWarning,
                stacklevel=4,
            )
            return
        self.earlier = seconds

    def _check_owner(self, found: Mapping[str, Any]) -> None:
        other = differing(self._complete_owner(), found)
        if other:
            raise RunError(
                f"{self.path} must belong to this training to be continued (got another "
                f"{', another '.join(other)}); give another --out, or delete it to begin anew"
            )

    def _complete_owner(self) -> dict[str, Any]:
        # at the first write, so that short trainings don't pay for it
        self._data_hash = self._data_hash or fingerprint(self._data)
        return {**self.owner, "content of the graph": self._data_hash}


def _sentence(error: Exception) -> str:
    return f"it doesn't fit: {str(error).partition(chr(10))[0]}"
