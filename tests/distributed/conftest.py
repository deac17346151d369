"""A Ray cluster of three nodes on this machine, and graphs in folders."""

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from herofilter.data import csbm, save_graph_folder

ROOT = Path(__file__).parents[2]
# 127.0.0.1 is rewritten to an outward address, which the driver can't reach
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.2", "object_store_memory": 80 * 2**20}


@dataclass
class Nodes:
    """A head without cores and two nodes of one core each."""

    cluster: Any
    nodes: list[Any] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def lose(self) -> None:
        """Kill a node that works, without grace."""
        self.cluster.remove_node(self.nodes.pop(0), allow_graceful=False)

    def fill(self) -> "Nodes":
        """Let there be two nodes again."""
        while len(self.nodes) < 2:
            self.nodes.append(self.cluster.add_node(**NODE))
        return self


@pytest.fixture(scope="session")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    if importlib.util.find_spec("ray") is None:
        pytest.skip('Ray isn\'t installed: pip install "herofilter[ray]"')
    home = tmp_path_factory.mktemp("home")
    before = dict(os.environ)
    # Ray writes a token into HOME
    os.environ |= {"HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT)}
    from ray.cluster_utils import Cluster

    head = {**NODE, "num_cpus": 0, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield Nodes(cluster)
    finally:
        cluster.shutdown()
        os.environ.clear()
        os.environ |= before


@pytest.fixture
def ray_nodes(_cluster: Nodes) -> Nodes:
    """The cluster with all its nodes alive."""
    return _cluster.fill()


@pytest.fixture(scope="session")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two graph folders: one with features, and one without."""
    folder = tmp_path_factory.mktemp("graphs")
    data = csbm(num_nodes=600, num_classes=3, directed=True)
    save_graph_folder(data, folder / "features")
    data.x = None
    save_graph_folder(data, folder / "bare")
    return folder
