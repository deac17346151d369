"""What a graph would cost on so many machines: ``python -m herofilter.distributed.cost``.

Times come from results/scale.json (two threads, power-law graphs of 100 000 and of a million nodes)
and from counts of edges; between sizes they are linear in the logarithm of the number of nodes.
"""

import argparse
import math
from dataclasses import dataclass

from herofilter.memory import format_bytes

# edges that local push reads from a source at the default tolerance, counted: about 5 000 on the
# graphs of results/scale.json (5 edges a node, of any size), 7 310 on one with 20 edges a node,
# 8 701 on arxiv
EDGES_PER_SOURCE = 7310
# per size: nanoseconds per edge of the patcher, microseconds per training node of an epoch with its
# validation, and per node of inference; of one core
NS_PER_EDGE = {100_000: 14.7, 1_000_000: 16.1}
EPOCH_US = {100_000: 107.8, 1_000_000: 115.6}
INFERENCE_US = {100_000: 5.86, 1_000_000: 6.36}
# of building and renumbering the matrix, on one core, per entry: as recorded for arxiv in
# results/patcher.json, and the memory that the patcher itself reckons with
PREPARE_NS = 300.0
PREPARE_BYTES = 80
MACHINES = (1, 4, 16, 64)


@dataclass(frozen=True)
class Job:
    """A graph and what is done with it.

    Args:
        nodes, edges: of the graph; an edge is listed once.
        patch_size: nodes in a patch.
        features: columns, of ``feature_bytes`` each.
        train_nodes: the share of nodes that is trained on.
        epochs: of the training.
        edges_per_source: what local push reads from one node.
    """

    nodes: int
    edges: int
    patch_size: int = 16
    features: int = 128
    feature_bytes: int = 2
    train_nodes: float = 0.1
    epochs: int = 10
    edges_per_source: int = EDGES_PER_SOURCE

    @property
    def entries(self) -> int:
        """Entries of the symmetric adjacency matrix with its diagonal."""
        return 2 * self.edges + self.nodes

    def bytes(self) -> dict[str, int]:
        """Return the bytes on disk, and in memory where one process prepares the graph."""
        n, p = self.nodes, self.patch_size
        return {
            "edge list": 8 * self.edges,
            "features": n * self.features * self.feature_bytes,
            # node arrays, and the end of each edge with its degree
            "prepared graph": 36 * n + 8 * self.entries,
            "patches": n * (8 * p + 1),
            "memory to prepare": PREPARE_BYTES * self.entries,
            "memory of a worker, edges on disk": 40 * n,
        }

    def core_hours(self) -> dict[str, float]:
        """Return the core-hours of each stage; ``prepare`` is on one core of one machine."""
        n = self.nodes
        trained = n * self.train_nodes * self.epochs
        return {
            "prepare": PREPARE_NS * self.entries / 3.6e12,
            "patch": n * self.edges_per_source * at_size(NS_PER_EDGE, n) / 3.6e12,
            "train": trained * at_size(EPOCH_US, n) / 3.6e9,
            "predict": n * at_size(INFERENCE_US, n) / 3.6e9,
        }

    def network(self, machines: int) -> dict[str, int]:
        """Return the bytes that go over the network, if all files are on a shared file system."""
        n, p, size = self.nodes, self.patch_size, self.bytes()
        row = self.features * self.feature_bytes
        return {
            "prepared graph, once per machine": machines * size["prepared graph"],
            # a part has 12 bytes per entry, is written and read once, and goes into the store
            "patches": 2 * 12 * n * p + size["patches"],
            "training": int(n * self.train_nodes * self.epochs * p * (row + 8)),
            "prediction": n * p * (row + 8),
        }

    def hours(self, machines: int, cores: int, efficiency: float = 0.8) -> float:
        """Return the hours from the packed graph to predictions, the network apart."""
        work = self.core_hours()
        shared = sum(value for stage, value in work.items() if stage != "prepare")
        return work["prepare"] + shared / (machines * cores * (efficiency if machines > 1 else 1.0))


def at_size(measured: dict[int, float], nodes: int) -> float:
    """Return a value per node or edge at another size than the two measured ones.

    Example:
        >>> round(at_size({10: 1.0, 100: 2.0}, 1000), 9)
        3.0
    """
    (small, low), (large, high) = sorted(measured.items())
    return low + (high - low) * math.log(nodes / small) / math.log(large / small)


def table(job: Job, cores: int = 16) -> str:
    """Return the costs as lines of text."""
    lines = [f"{job.nodes:,} nodes, {job.edges:,} edges, patches of {job.patch_size}", ""]
    lines += [f"{name:36} {format_bytes(size):>10}" for name, size in job.bytes().items()]
    lines += ["", *(f"{name:36} {h:10.1f} core-hours" for name, h in job.core_hours().items())]
    lines += ["", f"machines of {cores} cores      hours    GB over the network, per machine"]
    for machines in MACHINES:
        moved = sum(job.network(machines).values()) / machines / 1e9
        lines.append(f"{machines:20} {job.hours(machines, cores):12.2f} {moved:12.0f}")
    return "\n".join(lines)


def main() -> None:
    """Print what a graph would cost."""
    parser = argparse.ArgumentParser(prog="python -m herofilter.distributed.cost")
    parser.add_argument("--nodes", type=float, default=1e8)
    parser.add_argument("--edges", type=float, default=2e9)
    parser.add_argument("--patch-size", type=int, default=16)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--cores", type=int, default=16)
    given = parser.parse_args()
    size = (int(given.nodes), int(given.edges), given.patch_size, given.features)
    print(table(Job(*size, epochs=given.epochs), given.cores))


if __name__ == "__main__":
    main()
