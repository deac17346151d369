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
found = {}
for name in sys.argv[1:]:
    assert find_model(name).name == name
    loaded = [key for key in sys.modules if key.startswith("herofilter.baselines.")]
    found[name] = [key.rpartition(".")[2] for key in loaded]
print(json.dumps(found))
"""


@pytest.mark.parametrize("entry", list_models(), ids=lambda entry: entry.name)
def test_a_module_is_called_after_its_model(entry: ModelEntry) -> None:
    name = entry.name
    baseline = f"herofilter.baselines.{name.replace('-', '_')}"
    module = entry.builder.__module__
    assert module == ("herofilter.nn.build" if "herofilter" in name else baseline)


def test_other_models_are_not_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "herofilter", "fast-herofilter", "mlp"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = {name: set(modules) for name, modules in json.loads(done.stdout).items()}
    assert not (found["herofilter"] | found["fast-herofilter"]) & {"gcn", "gat", "mlp"}
    assert "mlp" in found["mlp"]
    assert not found["mlp"] & {"gcn", "gat"}
