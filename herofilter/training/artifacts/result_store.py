"""Records of finished trainings by key, on disk as soon as each is there.

Killed at any moment, a store keeps what was added before, and the record under way is there
completely or not at all; a run that opens it again trains only what is missing.
"""

import json
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from herofilter.config import from_earlier
from herofilter.errors import RunError
from herofilter.files import read_json, read_text, write_json

Record = dict[str, Any]
Key = TypeVar("Key", bound=Hashable)


class DamagedLineWarning(UserWarning):
    """A line of a store can't be read; the training counts as not done."""


class ResultStore(ABC, Generic[Key]):
    """Finished trainings in a file.

    Args:
        path: the file; made with the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[Key, Record] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self.records

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        """Return those of ``keys`` that have no record, in their order."""
        return [key for key in keys if key not in self.records]

    def add(self, key: Key, record: Record) -> None:
        """Write one more record; an earlier one of the same key is replaced."""
        self.records[key] = record
        self._write(key)

    @abstractmethod
    def _write(self, key: Key) -> None:
        """Bring the record of ``key`` to the disk."""


class DocumentStore(ResultStore[str]):
    """The trainings of a few splits in one JSON document, replaced atomically.

    The document has the records under ``splits``, with what ``before`` and ``after`` hold above
    and below them.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.before: dict[str, Any] = {}
        self.after: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Load the records of the document and return all of it.

        One that can't be read is an OSError, a KeyError, a TypeError or a ValueError.
        """
        document: dict[str, Any] = read_json(self.path)
        self.records = dict(document["splits"])
        return document

    def write(self) -> None:
        """Replace the document."""
        write_json(self.path, {**self.before, "splits": self.records, **self.after})

    def _write(self, key: str) -> None:
        self.write()


class LineStore(ResultStore[Key]):
    """Any number of trainings in a file of JSON lines that only ever grows.

    A line that a kill cut short is passed over. Of two lines for the same training the later one
    counts.

    Args:
        path: the file.
        key_of: returns the key of a record; raises a KeyError or TypeError if it has none.
    """

    def __init__(self, path: Path, key_of: Callable[[Record], Key]) -> None:
        super().__init__(path)
        if not path.exists():
            return
        try:
            lines = read_text(path).splitlines()
        except (OSError, ValueError) as error:
            raise RunError(
                f"{path} must be a readable file of finished trainings "
                f"({type(error).__name__}); give another --out"
            ) from error
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                self.records[key_of(record)] = record
            except (ValueError, KeyError, TypeError, RecursionError):
                if number < len(lines):
                    warnings.warn(
                        f"line {number} of {path} can't be read; its training runs again",
                        DamagedLineWarning,
                        stacklevel=3,
                    )

    def _write(self, key: Key) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            # a kill may have left half a line
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(json.dumps(self.records[key]).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def differing(header: Mapping[str, Any], saved: Any) -> list[str]:
    """Return the keys in which a saved header differs from the one of this run.

    Settings that earlier versions saved and that no longer exist don't count.

    Example:
        >>> differing({"model": "mlp", "seed": 0}, {"model": "gcn", "seed": 0})
        ['model']
    """
    now = json.loads(json.dumps(header))
    held = from_earlier(saved) if isinstance(saved, Mapping) else {}
    return [key for key in {**now, **held} if now.get(key) != held.get(key)]
