"""Every test has a cache folder of its own; real graphs keep one for the whole run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEROFILTER_CACHE", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Let a test that draws weights without a seed of its own draw the same ones each time."""
    torch.manual_seed(0)
