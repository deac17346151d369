"""The notebook is the script beside it, and runs."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from docsite.notebook import SCRIPT, notebook, rendered

FILE = SCRIPT.with_suffix(".ipynb")


def test_the_notebook_is_made_from_the_script() -> None:
    assert FILE.read_text(encoding="utf-8") == rendered(SCRIPT), "run: python -m docsite.notebook"


def test_the_notebook_has_the_code_of_the_script_and_no_output() -> None:
    cells = json.loads(FILE.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) == 5
    lines = [line for line in "\n".join(code).splitlines() if line]
    script = SCRIPT.read_text(encoding="utf-8").partition('"""\n\n')[2].splitlines()
    assert lines == [line for line in script if line and not re.match("# ?", line)]
    assert all(cell.get("outputs", []) == [] for cell in cells)


def test_cells() -> None:
    made = notebook('"""Of the script."""\n\n# %% [markdown]\n# # A\n#\n# b\n\n# %%\nx = 1\n\nx\n')
    markdown, code = made["cells"]
    assert markdown["source"] == ["# A\n", "\n", "b"]
    assert code["source"] == ["x = 1\n", "\n", "x"]
    assert code["execution_count"] is None


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("sklearn")
    shutil.copytree(FILE.parent / "airports", tmp_path / "airports")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FILE.parents[1]), *_paths()]))
    made = nbformat.read(FILE, as_version=4)
    nbformat.validate(made)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(made, timeout=180, resources=place).execute()
    printed = "".join(
        output.get("text", "") for cell in made.cells for output in cell.get("outputs", [])
    )
    assert "292 airports, " in printed
    assert "\nkept " in printed
    assert printed.endswith("report: runs/csv_to_report/report.html\n")
    page = (tmp_path / "runs/csv_to_report/report.html").read_text(encoding="utf-8")
    assert "How good is it?" in page


def _paths() -> list[str]:
    return list(filter(None, [os.environ.get("PYTHONPATH", "")]))
