"""Threads and cache folders of test processes, and the plain results of compiled functions."""

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock

from herofilter import files
from herofilter.errors import MissingExtraError
from tests.optional_parts import absent, absent_import, absent_module
from tests.without_jit import run_without_jit

# rooms whose code shares out its work to threads are tested with two of them
THREADED = {"parallel", "spectral", "patchers", "nn", "benchmarks"}


class OptionalModule(pytest.Module):
    """A module of tests, skipped where an optional part that it imports isn't installed."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        if reason := absent_import(self.path):
            pytest.skip(reason, allow_module_level=True)
        return super().collect()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    return OptionalModule.from_parent(parent, path=module_path)


@contextmanager
def _skipped_without_parts() -> Iterator[None]:
    """Skip a test that meets a part of the package that really isn't installed."""
    try:
        yield
    except MissingExtraError as error:
        if reason := absent(error.extra):
            pytest.skip(reason)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    for marker in item.iter_markers("part"):
        if reason := absent(marker.args[0]):
            pytest.skip(reason)
    with _skipped_without_parts():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _skipped_without_parts():
        try:
            return (yield)
        except ModuleNotFoundError as error:
            # elsewhere an import that fails is a defect: the error must name the part
            if item.get_closest_marker("any_part") and (reason := absent_module(error.name or "")):
                pytest.skip(reason)
            raise


@pytest.fixture(autouse=True)
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start each test with the threads of its room, whatever an earlier one has set."""
    room = request.path.relative_to(Path(__file__).parent).parts[0]
    torch.set_num_threads(2 if room in THREADED else 1)
    yield
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEROFILTER_CACHE", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def _warnings_anew() -> None:
    """Let every test see the warning that comes once per process."""
    files._unkept.clear()


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Let a test that draws weights without a seed of its own draw the same ones each time."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def forkserver() -> ForkServerContext:
    """Return a context whose processes are forked from one that has loaded the package."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch_geometric", "herofilter.reproduce.accuracy"])
    return context


@pytest.fixture
def _quick_workers(forkserver: ForkServerContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers start in no time; that they are spawned is tested in ``tests/parallel``."""
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: forkserver)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of this run that all processes of pytest-xdist have in common."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    (folder / "shared").mkdir(exist_ok=True)
    return folder / "shared"


@pytest.fixture(scope="session")
def _plain_cases(request: pytest.FixtureRequest, shared_folder: Path) -> Path:
    """Return the folder with the plain results of all collected modules that have cases."""
    with FileLock(shared_folder / "without_jit.lock"):
        folder = shared_folder / "without_jit"
        if not folder.exists():
            modules = {item.module for item in request.session.items if hasattr(item, "module")}
            names = sorted(each.__name__ for each in modules if hasattr(each, "jit_cases"))
            folder.mkdir()
            run_without_jit(folder, names)
    return folder


@pytest.fixture
def without_jit(request: pytest.FixtureRequest, _plain_cases: Path) -> dict[str, np.ndarray]:
    """Return what ``jit_cases`` of the test's module gives where numba compiles nothing."""
    with np.load(_plain_cases / f"{request.module.__name__}.npz") as file:
        return dict(file)
