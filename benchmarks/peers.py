"""Personalised PageRank of other libraries, set up to compute the same vectors as the patcher.

With c the probability that a random walk continues, all of them give row v of
:math:`(1-c)(I - c D^{-1} A)^{-1}`. Each takes the undirected adjacency as a SciPy matrix; a test
compares them with a dense solve.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp
import torch

from herofilter.reproduce.speed.timing import seconds_of

TOLERANCES = tuple(1e-4 / 2**k for k in range(11))
Vector = tuple[np.ndarray, np.ndarray]


class Peer(Protocol):
    """Personalised PageRank by one library.

    ``call`` is what is timed; ``read`` converts its result into nodes and values for each source.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    module: ClassVar[str]
    # whether the graph has a self-loop at every node, as it has for the patcher by default
    loops: ClassVar[bool]
    tolerances: ClassVar[tuple[float, ...]]
    # sources in one call
    batch: ClassVar[int]

    def __init__(self, matrix: sp.csr_array, c: float) -> None: ...

    def call(self, sources: np.ndarray, tolerance: float) -> Any: ...

    def read(self, raw: Any, sources: np.ndarray) -> list[Vector]: ...

    def overhead(self) -> float: ...


class _Networkit:
    """Andersen's push on a lazy walk: its restart is (1 - c) / (1 + c)."""

    package: ClassVar[str] = "networkit"
    module: ClassVar[str] = "networkit"
    tolerances: ClassVar[tuple[float, ...]] = TOLERANCES
    batch: ClassVar[int] = 10
    loops: ClassVar[bool] = False

    def __init__(self, matrix: sp.csr_array, c: float) -> None:
        import networkit

        networkit.setNumberOfThreads(1)
        self.push = networkit.scd.ApproximatePageRank
        self.alpha = (1 - c) / (1 + c)
        half = sp.triu(matrix).tocoo()
        ends = tuple(side.astype(np.uint64) for side in half.coords)
        weights = np.where(half.row == half.col, (1 - c) / 2, half.data)
        self.graph = networkit.GraphFromCoo(
            (weights, ends), n=matrix.shape[0], weighted=self.loops, directed=False
        )

    def call(self, sources: np.ndarray, tolerance: float) -> list[list[tuple[int, float]]]:
        # a new object for each source: it keeps the result of the last one
        return [self.push(self.graph, self.alpha, tolerance).run(int(v)) for v in sources]

    def read(self, raw: list[list[tuple[int, float]]], sources: np.ndarray) -> list[Vector]:
        return [_vector(row) for row in raw]

    def overhead(self) -> float:
        return 0.0


class NetworkitPlain(_Networkit):
    """networkit where it is fastest: no weights and no self-loops."""

    name: ClassVar[str] = "networkit, no self-loops"


class NetworkitLoops(_Networkit):
    r"""networkit on the patcher's graph, with self-loops.

    Its push drops the mass that a self-loop returns, and a self-loop's weight counts twice in the
    degree. A loop of weight (1 - c) / 2 at every node therefore makes the degree
    :math:`d_u - c`, and the result is exact once it is multiplied by :math:`d_u / (d_u - c)`, where
    :math:`d_u` counts one self-loop.
    """

    name: ClassVar[str] = "networkit, self-loops"
    loops: ClassVar[bool] = True

    def __init__(self, matrix: sp.csr_array, c: float) -> None:
        super().__init__(matrix, c)
        degree = np.asarray(matrix.sum(axis=1)).reshape(-1)
        self.factor = degree / (degree - c)

    def read(self, raw: list[list[tuple[int, float]]], sources: np.ndarray) -> list[Vector]:
        vectors = super().read(raw, sources)
        return [(nodes, values * self.factor[nodes]) for nodes, values in vectors]


class PyG:
    """torch_geometric's push for a list of targets, compiled by numba."""

    name: ClassVar[str] = "PyG get_ppr"
    package: ClassVar[str] = "pyg"
    module: ClassVar[str] = "torch_geometric"
    loops: ClassVar[bool] = True
    tolerances: ClassVar[tuple[float, ...]] = TOLERANCES
    batch: ClassVar[int] = 20

    def __init__(self, matrix: sp.csr_array, c: float) -> None:
        import numba
        from torch_geometric.utils.ppr import get_ppr

        numba.set_num_threads(1)
        self.get_ppr: Callable[..., Any] = get_ppr
        self.restart, self.n = 1 - c, matrix.shape[0]
        row, col = matrix.tocoo().coords
        self.edge_index = torch.from_numpy(np.stack([row, col]).astype(np.int64))
        self.lightest = np.array([np.argmin(np.diff(matrix.indptr))])
        self.call(self.lightest, TOLERANCES[0])

    def call(self, sources: np.ndarray, tolerance: float) -> tuple[torch.Tensor, torch.Tensor]:
        target = torch.from_numpy(sources.astype(np.int64))
        pair: tuple[torch.Tensor, torch.Tensor] = self.get_ppr(
            self.edge_index, self.restart, tolerance, target, self.n
        )
        return pair

    def read(self, raw: tuple[torch.Tensor, torch.Tensor], sources: np.ndarray) -> list[Vector]:
        (row, col), value = raw[0].numpy(), raw[1].double().numpy()
        ends = np.flatnonzero(np.diff(row, append=-1)) + 1
        starts = np.concatenate([[0], ends[:-1]])
        return [(col[a:b], value[a:b]) for a, b in zip(starts, ends, strict=True)]

    def overhead(self) -> float:
        """Return the seconds that every call takes to sort the edges, for however few sources."""
        return min(seconds_of(lambda: self.call(self.lightest, TOLERANCES[0])) for _ in range(3))


class IGraph:
    """igraph's full vector by PRPACK, which has no tolerance to set."""

    name: ClassVar[str] = "igraph"
    package: ClassVar[str] = "igraph"
    module: ClassVar[str] = "igraph"
    loops: ClassVar[bool] = True
    tolerances: ClassVar[tuple[float, ...]] = (0.0,)
    batch: ClassVar[int] = 1

    def __init__(self, matrix: sp.csr_array, c: float) -> None:
        import igraph

        # directed both ways: an undirected self-loop would count twice
        ends = np.stack(matrix.tocoo().coords, axis=1)
        self.graph = igraph.Graph(n=matrix.shape[0], edges=ends, directed=True)
        self.c = c

    def call(self, sources: np.ndarray, tolerance: float) -> list[list[float]]:
        rank = self.graph.personalized_pagerank
        return [rank(damping=self.c, reset_vertices=int(v)) for v in sources]

    def read(self, raw: Sequence[Sequence[float]], sources: np.ndarray) -> list[Vector]:
        return [_nonzero(np.asarray(row)) for row in raw]

    def overhead(self) -> float:
        return 0.0


class ScikitNetwork:
    """scikit-network's full vector by its default solver, the power iteration.

    Its D-iteration adds up without locks, so that the result depends on the threads.
    """

    name: ClassVar[str] = "scikit-network"
    package: ClassVar[str] = "scikit_network"
    module: ClassVar[str] = "sknetwork"
    loops: ClassVar[bool] = True
    tolerances: ClassVar[tuple[float, ...]] = TOLERANCES
    batch: ClassVar[int] = 1

    def __init__(self, matrix: sp.csr_array, c: float) -> None:
        from sknetwork.ranking import PageRank

        self.rank, self.c = PageRank, c
        self.matrix = sp.csr_matrix(matrix)

    def call(self, sources: np.ndarray, tolerance: float) -> list[np.ndarray]:
        # as many iterations as the tolerance asks for: its default ends after ten
        model = self.rank(self.c, solver="piteration", n_iter=200, tol=tolerance)
        return [model.fit_predict(self.matrix, weights={int(v): 1}) for v in sources]

    def read(self, raw: Sequence[np.ndarray], sources: np.ndarray) -> list[Vector]:
        return [_nonzero(row.astype(np.float64)) for row in raw]

    def overhead(self) -> float:
        return 0.0


PEERS: tuple[type[Peer], ...] = (
    NetworkitPlain,
    NetworkitLoops,
    PyG,
    IGraph,
    ScikitNetwork,
)
PACKAGES = tuple(dict.fromkeys(peer.package for peer in PEERS))


@dataclass(frozen=True)
class Missing:
    """A library that isn't installed, and how to get it."""

    package: str

    @property
    def cure(self) -> str:
        """What to do about it."""
        return (
            f"the comparison with {self.package} needs the optional part 'bench', which isn't "
            'installed; install it with: pip install -e ".[bench]"'
        )


def missing_peers() -> dict[str, str]:
    """Return the cure for each library that isn't installed."""
    absent = {peer.package for peer in PEERS if find_spec(peer.module) is None}
    return {package: Missing(package).cure for package in PACKAGES if package in absent}


def _vector(pairs: Sequence[tuple[int, float]]) -> Vector:
    nodes, values = zip(*pairs, strict=True)
    return np.array(nodes, dtype=np.int64), np.array(values)


def _nonzero(values: np.ndarray) -> Vector:
    nodes = np.flatnonzero(values > 0)
    return nodes, values[nodes]
