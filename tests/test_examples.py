"""Every example runs as it is, in a separate process."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
NUMBER = r"\d\.\d+"
# arguments that make it small, and what it must print, in order
EXAMPLES = {
    "filter_response.py": (
        ["0.8"],
        [
            r"g\(λ\) before → after",
            "adaptive-0",
            r"λ = -1\.00 ",
            r"λ = \+1\.00 ",
            "adaptive-1",
            r"edge homophily +0\.2",
            f"patch homophily +{NUMBER}",
            f"test accuracy +{NUMBER}",
        ],
    ),
    "grid_search.py": (
        ["90"],
        [
            f"test accuracy {NUMBER} ± {NUMBER} over 3 folds",
            "best of 4: {'aggregation': ",
            f"test accuracy {NUMBER} on held-out nodes",
        ],
    ),
    "networkx_graph.py": (
        ["120"],
        [
            r"120 nodes, \d+ features, classes: \('north', 'south', 'west'\)",
            f"test accuracy {NUMBER}",
            r"person-\d+: (north|south|west)",
            r"person-7 is row 7: (north|south|west)",
        ],
    ),
    "onnx_serving.py": (
        ["20"],
        [
            f"test accuracy {NUMBER}",
            r"inputs: tokens_x \(3, 8, 32\), scale \(3, 8\)",
            rf"node 2: class \d with probability {NUMBER}",
            "agrees with torch: True",
        ],
    ),
    "airports.py": (
        ["15"],
        [
            "kept ",
            "the edges help",
            "88 airports had no region; the first of them:",
            rf"ABE,,none,\w+,{NUMBER},{NUMBER},{NUMBER},{NUMBER},{NUMBER}",
        ],
    ),
    "csv_to_report.py": (
        [],
        [
            "292 airports, 2435 pairs with flights",
            "52% of the routes lead to another region",
            "kept ",
            "the edges ",
            "id,label,part,prediction,confidence,",
            rf"ABE,,none,\w+,{NUMBER}",
            "of its own columns",
            "report: runs/csv_to_report/report.html",
        ],
    ),
    "csv_tables.py": (
        ["4"],
        [
            "kept ",
            "the edges ",
            "id,label,part,prediction,confidence,cooking,sailing",
            rf"user:0,\w*,\w+,(cooking|sailing),{NUMBER},{NUMBER},{NUMBER}",
        ],
    ),
    "numpy_graph.py": (
        ["150"],
        [
            f"mlp: test accuracy {NUMBER} ± {NUMBER} over 3 splits",
            f"herofilter: test accuracy {NUMBER} ± {NUMBER} over 3 splits",
        ],
    ),
    "custom_loop.py": (["21"], ["epoch 0: loss", "epoch 20: loss", f"test accuracy {NUMBER}"]),
    "pyg_loop.py": (
        ["11"],
        [
            "patches of 8 nodes for 500 nodes",
            "epoch 0: loss",
            "epoch 10: loss",
            f"test accuracy {NUMBER}",
        ],
    ),
    "quickstart.py": (
        [],
        [
            r"csbm: 1000 nodes, \d+ edges, 5 classes",
            f"fast patches: test accuracy {NUMBER}",
            f"spectral patches: test accuracy {NUMBER}",
        ],
    ),
}
# what some need beyond the package
EXTRAS = {
    "grid_search.py": ("sklearn",),
    "networkx_graph.py": ("networkx",),
    "onnx_serving.py": ("onnx", "onnxruntime", "onnxscript"),
}


def run(name: str, args: list[str], cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:__main__", name, *args],
        env={**os.environ, "HEROFILTER_CACHE": str(cache), "PYTHONIOENCODING": "utf-8"},
        cwd=shutil.copytree(FOLDER, cache / "examples"),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_every_example_is_tested_and_short() -> None:
    files = {path.name: path for path in FOLDER.glob("*.py")}
    assert files.keys() == EXAMPLES.keys()
    for path in files.values():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert sum(not line.startswith("#") for line in lines) < 60, path.name


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path) -> None:
    for module in EXTRAS.get(name, ()):
        pytest.importorskip(module)
    args, expected = EXAMPLES[name]
    printed = run(name, args, tmp_path)
    assert re.search(".*".join(expected), printed, re.DOTALL), printed
    for accuracy in re.findall(rf"test accuracy +({NUMBER})", printed):
        assert float(accuracy) > 0.3
