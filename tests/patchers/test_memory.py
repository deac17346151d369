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
from herofilter.patchers import FastPatcher, LocalPatcher, PolynomialPatcher, SpectralPatcher
from herofilter.patchers.spectral_memory import spectral_memory

kind, nodes, pairs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None
degree, threads = int(sys.argv[4]), int(sys.argv[5])
torch.set_num_threads(threads)
FAST = FastPatcher(patch_size=32)

def graph(n):
    data = csbm(num_nodes=n, num_classes=3, average_degree=degree, num_splits=1)
    # each edge listed once, for which there must be room twice
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    return data

def work(data):
    if kind == "fast":
        return FAST(data)
    if kind == "polynomial":
        return PolynomialPatcher(data, 9, ("low", "hop2"))
    if kind == "local":
        patcher = LocalPatcher(data, FAST)
        patcher.align(data.y)
        return patcher()
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
size = (nodes, data.edge_index.size(1))
estimate = {
    "spectral": lambda: spectral_memory(nodes, pairs),
    "fast": lambda: FAST.memory(*size),
    "polynomial": lambda: PolynomialPatcher.memory(*size),
    "local": lambda: LocalPatcher(data, FAST).memory(*size),
}[kind]()
print(json.dumps([resident("VmHWM") - before, estimate]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("kind", "nodes", "pairs", "degree", "threads"),
    [
        ("spectral", 20_000, 64, 10, 1),
        ("spectral", 6000, 100, 10, 1),
        ("spectral", 2500, 0, 10, 1),
        ("fast", 100_000, 0, 10, 1),
        ("polynomial", 6000, 0, 10, 2),
        ("polynomial", 6000, 0, 60, 1),
        ("local", 10_000, 0, 10, 1),
    ],
)
def test_estimates_are_near_the_peak(tmp_path, monkeypatch, kind, nodes, pairs, degree, threads):
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path))
    numbers = map(str, (nodes, pairs, degree, threads))
    command = [sys.executable, "-W", "ignore", "-c", MEASURE, kind, *numbers]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, estimate = json.loads(told.stdout)
    assert estimate / 1.5 < peak < 1.5 * estimate
