"""A model is found by its name, and only its module is imported."""

import json
import subprocess
import sys

import pytest

from herofilter import list_models
from herofilter.nn.registry import ModelEntry

SCRIPT = """
import json, sys
from herofilter.nn import find_model
assert find_model(sys.argv[1]).name == sys.argv[1]
print(json.dumps([name for name in sys.modules if name.startswith("herofilter.baselines.")]))
"""


@pytest.mark.parametrize("entry", list_models(), ids=lambda entry: entry.name)
def test_a_module_is_called_after_its_model(entry: ModelEntry) -> None:
    name = entry.name
    baseline = f"herofilter.baselines.{name.replace('-', '_')}"
    module = entry.build.__module__
    assert module == ("herofilter.nn.build" if "herofilter" in name else baseline)


@pytest.mark.parametrize(
    ("name", "others"),
    [("herofilter", {"gcn", "mlp", "gat"}), ("fast-herofilter", {"mlp"}), ("mlp", {"gcn", "gat"})],
)
def test_other_models_are_not_imported(name: str, others: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = {module.rpartition(".")[2] for module in json.loads(done.stdout)}
    assert not found & others
    assert (name in found) == (name == "mlp")
