from pathlib import Path

import pytest

from tests.serve.models import fit_tables
from tests.user_tables import write_tables


@pytest.fixture(scope="package")
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with tables and a fitted model."""
    folder = tmp_path_factory.mktemp("served")
    write_tables(folder)
    fit_tables(folder, "herofilter").save(folder / "model")
    return folder
