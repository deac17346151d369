"""The trainings of the tables: one line of JSON each, in a file that only ever grows."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from herofilter.training.artifacts.environment import package_versions
from herofilter.training.artifacts.result_store import LineStore
from herofilter.training.search.suggest import Value


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
        stage: ``search`` (test labels unread), ``final``, or ``nested`` (a trial whose test scores
            are read only if its validation scores are the best of its split).
    """

    graph: str
    variant: str
    model: str
    config: str
    seed: int
    split: int
    stage: str


class ResultFile(LineStore[Key]):
    """Finished trainings by what was trained."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _key)

    def keep(self, key: Key, settings: Mapping[str, Value], outcome: Mapping[str, Any]) -> None:
        """Append one finished training: its key, settings, metrics and package versions."""
        versions = {"versions": package_versions()}
        self.add(key, {**vars(key), "settings": dict(settings), **outcome, **versions})


def _key(record: Mapping[str, Any]) -> Key:
    return Key(**{name: record[name] for name in Key.__dataclass_fields__})
