"""The arrays of a graph on disk: mapped or read row by row, they give the patches of memory."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import csbm
from herofilter.data.synthetic.power_law import power_law_graph
from herofilter.errors import ConfigError
from herofilter.files import DamagedFileError
from herofilter.patchers import FastPatcher, Patches
from herofilter.patchers.forms import map_forms, save_forms
from herofilter.patchers.ppr import push_table

ROOT = Path(__file__).parents[2]
PUSH = FastPatcher(6, method="push", tolerance=1e-4)
DIRECTED = FastPatcher(6, method="push", tolerance=1e-4, directed="keep", relations=("out", "in"))


def graph(n: int = 60) -> Data:
    return csbm(num_nodes=n, num_classes=2, directed=True)


def weighted() -> Data:
    data = graph()
    data.edge_weight = torch.rand(data.edge_index.size(1), generator=torch.manual_seed(0))
    return data


def read_from_disk(patcher: FastPatcher, data: Data, folder: Path) -> Patches:
    save_forms(patcher.forms(data), folder)
    return patcher.on_forms(int(data.num_nodes or 0), map_forms(folder, edges_on_disk=True))()


@pytest.fixture
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_table, "TABLE_FROM", 10)


@pytest.mark.usefixtures("_tables")
@pytest.mark.parametrize("data", [graph(), weighted()], ids=["plain", "weighted"])
@pytest.mark.parametrize("patcher", [PUSH, DIRECTED], ids=["undirected", "directed"])
def test_edges_on_disk_give_the_same_bits(tmp_path: Path, patcher: FastPatcher, data: Data) -> None:
    found = read_from_disk(patcher, data, tmp_path / "forms")
    expected = patcher(data)
    assert torch.equal(found.index, expected.index)
    assert torch.equal(found.score, expected.score)


@pytest.mark.usefixtures("_tables")
def test_a_file_that_is_too_short(tmp_path: Path) -> None:
    save_forms(PUSH.forms(graph()), tmp_path / "forms")
    (file,) = (tmp_path / "forms").rglob("ends.npy")
    file.write_bytes(file.read_bytes()[:-400])
    prepared = PUSH.on_forms(60, map_forms(tmp_path / "forms", edges_on_disk=True))
    with pytest.raises(DamagedFileError, match="a file is too short"):
        prepared()


def test_what_needs_edges_in_memory_is_refused(tmp_path: Path, monkeypatch) -> None:
    for number, patcher in enumerate((PUSH, FastPatcher(6, relations=("cocitation",)))):
        folder = tmp_path / str(number)
        with pytest.raises(
            ConfigError, match="edges can stay on disk for the relations out and in"
        ):
            read_from_disk(patcher, graph(), folder)
    monkeypatch.setattr(push_table, "TABLE_FROM", 10)
    learned = FastPatcher(6, method="push", filters=((0.0, 1.0),))
    with pytest.raises(ConfigError, match="edges can't stay on disk for a learned filter"):
        read_from_disk(learned, graph(), tmp_path / "learned")


def test_relations_share_what_they_have_in_common(tmp_path: Path) -> None:
    patcher = FastPatcher(9, method="push", filters=((0.0, 1.0), (1.0, 0.5)))
    forms = patcher.forms(graph())
    assert forms["out"] is forms["filter-0"] is forms["filter-1"]
    save_forms(forms, tmp_path / "forms")
    assert len(list((tmp_path / "forms").rglob("indices.npy"))) == 1
    with pytest.raises(DamagedFileError, match="must hold a prepared graph"):
        map_forms(tmp_path / "none")


def jit_cases() -> dict[str, np.ndarray]:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(push_table, "TABLE_FROM", 10)
        found = read_from_disk(DIRECTED, graph(), Path(folder) / "forms")
    return {"index": found.index.numpy(), "score": found.score.numpy().view(np.int32)}


def test_without_jit_bit_for_bit(without_jit: dict[str, np.ndarray]) -> None:
    for name, expected in jit_cases().items():
        np.testing.assert_array_equal(without_jit[name], expected, name)


# all that is compiled is compiled, on a small graph, before the limit is set
LIMITED = """
import json, resource, sys
from pathlib import Path
import numpy as np, psutil, torch
from herofilter.patchers.forms import map_forms
from tests.patchers.test_forms import BIG, PUSH, graph, push_table, read_from_disk

folder, on_disk = Path(sys.argv[1]), sys.argv[2] == "disk"
torch.set_num_threads(1)
push_table.TABLE_FROM = 10
read_from_disk(PUSH, graph(), folder.parent / ("small-" + sys.argv[2]))
PUSH(graph())
size = sum(file.stat().st_size for file in folder.rglob("*.npy"))
limit = psutil.Process().memory_info().vms + size // 4
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sources = torch.arange(0, 400_000, 1000)
found = BIG.on_forms(400_000, map_forms(folder, edges_on_disk=on_disk))(sources)
np.savez(sys.argv[3], index=found.index.numpy(), score=found.score.numpy())
print(json.dumps({"size": size, "limit": size // 4}))
"""
BIG = FastPatcher(16, tolerance=1e-4)


@pytest.mark.slow
def test_a_quarter_of_the_graph_is_enough(tmp_path: Path) -> None:
    data = power_law_graph(400_000, 10_000_000, num_features=1)
    save_forms(BIG.forms(data), tmp_path / "forms")
    expected = BIG.on_forms(400_000, map_forms(tmp_path / "forms"))(torch.arange(0, 400_000, 1000))

    def run(where: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LIMITED, str(tmp_path / "forms"), where]
        env = {"PYTHONPATH": str(ROOT), "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            [*command, str(tmp_path / "found.npz")],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=200,
        )

    ended = run("disk")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["limit"] < 60 * 2**20
    found = np.load(tmp_path / "found.npz")
    assert np.array_equal(found["index"], expected.index.numpy())
    assert np.array_equal(found["score"], expected.score.numpy())
    # the limit is one: the edges can't be mapped under it
    mapped = run("mapped")
    assert mapped.returncode != 0
    assert "must hold a prepared graph that this machine can read (OSError" in mapped.stderr
