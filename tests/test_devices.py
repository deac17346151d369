"""Devices other than the CPU, tested by ``tests/pretended_devices.py`` in a process of its own.

Torch counts its devices when it first computes a gradient, so that a device which is registered
after that, by whatever test came before, can't be trained on.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils import backend_registration

CHECKS = Path(__file__).with_name("pretended_devices.py")


@pytest.mark.skipif(
    not hasattr(backend_registration, "_DummyBackendModule"), reason="this torch can't pretend"
)
def test_every_model_runs_on_a_device_that_refuses_silent_copies() -> None:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", str(CHECKS)]
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=CHECKS.parents[1], env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:]
