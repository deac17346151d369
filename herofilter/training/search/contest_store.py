"""The finished trainings of a fit on disk, so that a fit that was stopped goes on from there."""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from herofilter.data import TableGraph
from herofilter.files import read_json, write_json
from herofilter.scratch import remove_strays
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.result_store import LineStore, Record, differing
from herofilter.training.artifacts.sealed_folder import SEARCH
from herofilter.training.predictor import Predictor
from herofilter.training.search.schedule import Attempt

_HEADER, _ATTEMPTS = "search.json", "attempts.jsonl"


class ContestStore:
    """The folder ``search`` beside a model: a line per training, and the best model of each.

    Trainings count if they were made for the same graph with the same settings; a folder of
    others is replaced once there is something to put in its place.

    Args:
        out: the folder of the model; None keeps nothing.
        header: what identifies the fit.

    Example:
        >>> store = ContestStore(None, {})
        >>> store.add(Attempt("mlp", score=0.5, finished=True))
        >>> store.attempts
        []
    """

    def __init__(self, out: Path | None, header: Mapping[str, Any]) -> None:
        self.folder = None if out is None else out / SEARCH
        self.header = dict(header)
        self.attempts: list[Attempt] = []
        self._lines: LineStore[int] | None = None
        if self.folder is not None and self._is_same(self.folder):
            # lines are added in place: nothing else would look for what a kill has left
            remove_strays(self.folder)
            self._lines = _lines(self.folder)
            self.attempts = [_attempt(record) for record in self._lines.records.values()]

    def add(self, attempt: Attempt) -> None:
        """Keep one more training."""
        if self.folder is None:
            return
        lines = self._open(self.folder)
        lines.add(len(lines.records), {"number": len(lines.records), **asdict(attempt)})

    def save(self, name: str, predictor: Predictor) -> None:
        """Keep the best model of a contender, without its graph."""
        if self.folder is not None:
            self._open(self.folder)
            replace(predictor.saved, graph=None).save(self.folder / name)

    def load(self, name: str, graph: TableGraph) -> Predictor:
        """Return the best model of a contender, for the graph that it was trained on."""
        folder = self.folder or Path(SEARCH)
        return Predictor(replace(SavedModel.load(folder / name), graph=graph))

    def _open(self, folder: Path) -> LineStore[int]:
        if self._lines is None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            write_json(folder / _HEADER, self.header)
            self._lines = _lines(folder)
        return self._lines

    def _is_same(self, folder: Path) -> bool:
        try:
            known = read_json(folder / _HEADER)
        except (OSError, ValueError):
            return False
        return isinstance(known, dict) and not differing(self.header, known)


def _lines(folder: Path) -> LineStore[int]:
    return LineStore(folder / _ATTEMPTS, lambda record: int(record["number"]))


def _attempt(record: Record) -> Attempt:
    return Attempt(**{key: value for key, value in record.items() if key != "number"})


def finished_trainings(out: Path) -> int:
    """Return how many trainings that ended by themselves are in the folder of a model."""
    folder = out / SEARCH
    if not folder.is_dir():
        return 0
    return sum(bool(record["finished"]) for record in _lines(folder).records.values())
