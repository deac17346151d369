"""What patchers say they take is what they take, within half as much again."""

import json
import subprocess
import sys

import pytest

MEASURE = """
import ctypes, json, sys
from pathlib import Path
import torch
from herofilter.data import csbm
from herofilter.patchers import FastPatcher, SpectralPatcher
from herofilter.patchers.spectral_memory import spectral_memory

torch.set_num_threads(1)
kind, nodes, pairs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None

def graph(n):
    data = csbm(num_nodes=n, num_classes=3, average_degree=10, num_splits=1)
    # each edge listed once, for which there must be room twice
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    return data

def work(data):
    if kind == "fast":
        return FastPatcher(patch_size=32)(data)
    return SpectralPatcher(data, 9, num_eigenpairs=pairs)

def resident(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))

work(graph(2000))
data = graph(nodes)
# the peak counts from here, and what was freed can't be used again
ctypes.CDLL(None).malloc_trim(0)
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
made = work(data)
estimate = spectral_memory(nodes, pairs)
if kind == "fast":
    estimate = FastPatcher(patch_size=32).memory(nodes, data.edge_index.size(1))
print(json.dumps([resident("VmHWM") - before, estimate]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("kind", "nodes", "pairs"),
    [
        ("spectral", 20_000, 64),
        ("spectral", 6000, 100),
        ("spectral", 2500, 0),
        ("fast", 200_000, 0),
    ],
)
def test_estimates_are_near_the_peak(tmp_path, monkeypatch, kind, nodes, pairs):
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path))
    command = [sys.executable, "-W", "ignore", "-c", MEASURE, kind, str(nodes), str(pairs)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, estimate = json.loads(told.stdout)
    assert estimate / 1.5 < peak < 1.5 * estimate
