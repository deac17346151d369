"""The folder of a fit's finished trainings."""

import os
from pathlib import Path

import pytest

from herofilter.scratch import is_scratch, scratch_folder
from herofilter.training.search.contest_store import ContestStore
from herofilter.training.search.schedule import Attempt

HEADER = {"graph": "abc"}
ATTEMPT = Attempt("mlp", score=0.5, finished=True)


@pytest.mark.parametrize("killed_after", ["the header", "a training"])
def test_what_a_kill_left_goes_when_the_fit_continues(tmp_path: Path, killed_after: str) -> None:
    store = ContestStore(tmp_path, HEADER)
    store.add(ATTEMPT)
    if killed_after == "the header":
        (tmp_path / "search" / "attempts.jsonl").unlink()
    with scratch_folder(tmp_path / "search", "search.json") as folder:
        name = folder.name.replace(f"-{os.getpid()}-", "-99999999-")
    (tmp_path / "search" / name).mkdir()
    continued = ContestStore(tmp_path, HEADER)
    assert continued.attempts == ([] if killed_after == "the header" else [ATTEMPT])
    assert not any(is_scratch(path.name) for path in (tmp_path / "search").iterdir())
