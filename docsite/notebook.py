"""The notebook of an example: ``python -m docsite.notebook`` writes it from the script beside it.

A script is cut where a line begins with ``# %%``; the cells of ``# %% [markdown]`` are comments.
What comes before the first cut is about the script and isn't in the notebook.
"""

import json
import re
from pathlib import Path
from typing import Any

from docsite.public_names import ROOT

SCRIPT = ROOT / "examples" / "csv_to_report.py"
_CUT = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)


def notebook(script: str) -> dict[str, Any]:
    """Return the notebook of a script, without any output.

    Example:
        >>> made = notebook("# %% [markdown]\\n# Hi\\n# %%\\n1\\n")
        >>> [cell["cell_type"] for cell in made["cells"]]
        ['markdown', 'code']
    """
    _, *parts = _CUT.split(script)
    cells: list[dict[str, Any]] = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        cell: dict[str, Any] = {"id": f"cell-{len(cells)}", "metadata": {}}
        if mark:
            text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
            cell |= {"cell_type": "markdown"}
        else:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(cell | {"source": text.strip().splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def rendered(script: Path) -> str:
    """Return the text of the notebook file of a script."""
    made = notebook(script.read_text(encoding="utf-8"))
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCRIPT.with_suffix(".ipynb").write_text(rendered(SCRIPT), encoding="utf-8")
