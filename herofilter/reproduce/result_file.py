"""Finished trainings in an append-only file: one line of JSON each, whatever happens."""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from herofilter.errors import RunError
from herofilter.training.artifacts.environment import environment
from herofilter.training.search.suggest import Value

_PACKAGES = ("herofilter", "torch", "torch_geometric", "numba")


class DamagedLineWarning(UserWarning):
    """A line of a result file can't be read; the training counts as not done."""


def config_hash(model: str, settings: Mapping[str, Value]) -> str:
    """Return twelve hexadecimal digits that name a model with its settings.

    Example:
        >>> config_hash("gcn", {"lr": 0.01, "dropout": 0.5})
        '4908b11b8cff'
    """
    text = json.dumps([model, dict(settings)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Key:
    """What makes a training: nothing else changes its result on one machine.

    Args:
        graph: a dataset.
        variant: the version of its data and splits.
        model: a registered model.
        config: the hash of the settings.
        seed: of weights, dropout and batches.
        split: the number of the split.
        stage: ``search`` (test labels unread) or ``final``.
    """

    graph: str
    variant: str
    model: str
    config: str
    seed: int
    split: int
    stage: str


@dataclass
class ResultFile:
    """The rows of an append-only file, by what was trained.

    A line that a kill cut short is passed over and that training runs again. Of two rows for
    the same training the later one counts.

    Args:
        path: the file; made with the first row.
    """

    path: Path
    rows: dict[Key, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(
                f"{self.path} must be a readable file of finished trainings "
                f"({type(error).__name__}); give another --out"
            ) from error
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                self.rows[_key(row)] = row
            except (ValueError, KeyError, TypeError):
                if number < len(lines):
                    warnings.warn(
                        f"line {number} of {self.path} can't be read; its training runs again",
                        DamagedLineWarning,
                        stacklevel=2,
                    )

    def add(self, key: Key, settings: Mapping[str, Value], outcome: Mapping[str, Any]) -> None:
        """Append one finished training: what it was, what it gave, what it stood on."""
        row = {**vars(key), "settings": dict(settings), **outcome, **_versions()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            # a kill may have left half a line
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(json.dumps(row).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows[key] = row


def _key(row: Mapping[str, Any]) -> Key:
    return Key(**{name: row[name] for name in Key.__dataclass_fields__})


@lru_cache(maxsize=1)
def _versions() -> dict[str, Any]:
    here = environment()
    packages: Any = here["packages"]
    return {
        "versions": {
            "python": here["python"],
            **{name: packages[name] for name in _PACKAGES},
        }
    }
