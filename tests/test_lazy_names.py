"""Importing herofilter is quiet, whatever the libraries below it say."""

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from herofilter.lazy_names import raised_by_import, without_warnings

# stands in for PyG and warns when it is imported, as PyG does with some versions of torch
NOISY = """
import importlib.util, sys, warnings
warnings.warn("something is deprecated", FutureWarning, stacklevel=2)
warnings.warn("something is odd", UserWarning)
here = sys.path.pop(0)
del sys.modules["yaml"]
spec = importlib.util.find_spec("yaml")
module = importlib.util.module_from_spec(spec)
sys.modules["yaml"] = module
spec.loader.exec_module(module)
sys.path.insert(0, here)
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a noisy yaml in front of the real one."""
    (folder / "noisy").mkdir(exist_ok=True)
    (folder / "noisy" / "yaml.py").write_text(NOISY)
    before = os.environ.get("PYTHONPATH", "")
    paths = os.pathsep.join([str(folder / "noisy"), *filter(None, [before])])
    return subprocess.run(
        [sys.executable, "-W", "default", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "HEROFILTER_CACHE": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_library_of_this_test_is_noisy(tmp_path: Path) -> None:
    done = run(tmp_path, "-c", "import yaml; print(yaml.safe_load('[1]'))")
    assert done.stdout == "[1]\n", done.stderr
    assert "FutureWarning: something is deprecated" in done.stderr
    assert "UserWarning: something is odd" in done.stderr


def test_public_names_are_imported_quietly_and_other_warnings_stay(tmp_path: Path) -> None:
    script = """
import warnings
before = list(warnings.filters)
import herofilter
herofilter.Config
from herofilter import find_model
from herofilter.data import csbm
assert warnings.filters == before
warnings.warn("of the user's own")
herofilter.data.csbm
warnings.warn("of the user's own as well")
"""
    (tmp_path / "script.py").write_text(script)
    done = run(tmp_path, "script.py")
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "Warning: " in line]
    assert [line.partition("Warning: ")[2] for line in told] == [
        "of the user's own",
        "of the user's own as well",
    ]


def test_the_command_line_shows_no_warning_of_an_import(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "herofilter", "train", "karate", "--set", "lrr=1")
    assert done.stderr == "error: there is no setting 'lrr' (did you mean 'lr'?)\n"
    # torch and PyG, too, which -W default lets say what they like
    done = run(tmp_path, "-m", "herofilter", "info", "karate", "--json")
    assert (done.returncode, done.stderr) == (0, "")


WORKERS = """
import warnings
from herofilter.parallel.processes import run_jobs

def work(job):
    import yaml
    warnings.warn(f"of job {job}")
    return job

if __name__ == "__main__":
    print(sorted(run_jobs(work, [1, 2], workers=2)))
"""


def test_workers_show_no_warning_of_an_import(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(WORKERS)
    done = run(tmp_path, "jobs.py")
    assert done.stdout == "[1, 2]\n", done.stderr
    assert "of job 1" in done.stderr
    assert "of job 2" in done.stderr
    assert "something" not in done.stderr


def test_only_an_import_counts_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asks_during_import.py").write_text(
        "from herofilter.lazy_names import raised_by_import\nfound = raised_by_import()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import asks_during_import  # type: ignore[import-not-found]

    assert asks_during_import.found
    assert not raised_by_import()


def test_blocks_of_two_threads_leave_the_filters_as_they_were() -> None:
    """The second block begins inside the first and ends after it."""
    inside, ended = threading.Event(), threading.Event()

    def overlap() -> None:
        with without_warnings():
            inside.set()
            ended.wait(10)

    before = list(warnings.filters)
    with without_warnings():
        thread = threading.Thread(target=overlap)
        thread.start()
        inside.wait(10)
    ended.set()
    thread.join()
    assert list(warnings.filters) == before
