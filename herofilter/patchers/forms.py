"""The arrays of a graph that relations work on: made once, saved, and mapped by other processes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from herofilter.errors import ConfigError
from herofilter.files import DamagedFileError, appearing_folder, write_json
from herofilter.patchers.ppr.edge_files import EDGE_ARRAYS, array_header
from herofilter.patchers.ppr.push_graph import PushGraph, rescale
from herofilter.patchers.ppr.push_table import TABLE_FROM, degrees_of_ends, uses_table
from herofilter.patchers.two_hop import two_hop_arrays
from herofilter.spectral.adjacency import normalise

ABOUT = "forms.json"
_CSR = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class Form:
    """One matrix of a graph, laid out for one kind of relation.

    Args:
        kind: ``push``, ``series`` or ``two-hop``.
        arrays: by name.
        files: of the edge arrays of a graph that stays on disk; empty arrays stand for them.
    """

    kind: str
    arrays: Mapping[str, np.ndarray]
    files: Mapping[str, Path] | None = None

    @property
    def push_graph(self) -> PushGraph:
        """The graph of local push; equal weights are one value in the place of many."""
        parts = {name: self.arrays[name] for name in PushGraph._fields}
        parts["symmetric"] = bool(parts["symmetric"])  # type: ignore[assignment]
        if parts["weights"].size != parts["indices"].size:
            shape = (1,) if self.files else parts["indices"].shape
            parts["weights"] = np.broadcast_to(parts["weights"][0], shape)
        return PushGraph(**parts)  # type: ignore[arg-type]

    @property
    def matrix(self) -> sp.csr_array:
        """The normalised adjacency of a series."""
        size = self.arrays["indptr"].size - 1
        return sp.csr_array(tuple(self.arrays[name] for name in _CSR), shape=(size, size))


def make_form(kind: str, adjacency: sp.csr_array, refine: int = 0) -> Form:
    """Return an adjacency matrix, not normalised, in the form of a kind of relation.

    Example:
        >>> pair = sp.csr_array([[1.0, 1.0], [1.0, 1.0]])
        >>> make_form("push", pair).push_graph.degree.tolist()
        [2.0, 2.0]
    """
    if kind == "push":
        graph = rescale(adjacency)
        arrays = {name: np.asarray(value) for name, value in graph._asdict().items()}
        if graph.weights.strides == (0,):
            arrays["weights"] = graph.weights[:1].copy()
        if uses_table(graph.degree.size, refine):
            arrays["ends"] = degrees_of_ends(graph)
        return Form(kind, arrays)
    matrix = normalise(adjacency)
    if kind == "two-hop":
        return Form(kind, two_hop_arrays(matrix))
    return Form(kind, {name: getattr(matrix, name) for name in _CSR})


def save_forms(forms: Mapping[str, Form], folder: Path) -> None:
    """Write the forms of a graph by relation; the folder appears complete or not at all."""
    # relations may share one
    places = {id(form): str(number) for number, form in enumerate(forms.values())}
    with appearing_folder(folder) as scratch:
        for form in forms.values():
            place = scratch / places[id(form)]
            if not place.exists():
                place.mkdir()
                for name, array in form.arrays.items():
                    np.save(place / f"{name}.npy", array, allow_pickle=False)
        about = {name: {"kind": form.kind, "at": places[id(form)]} for name, form in forms.items()}
        write_json(scratch / ABOUT, about)


def map_forms(folder: Path, edges_on_disk: bool = False) -> dict[str, Form]:
    """Return the forms in a folder; arrays stay in their files until they are read.

    With ``edges_on_disk`` the edges aren't even mapped, so that a limit of the address space may be
    smaller than the graph. Only local push in tables can do with that.
    """
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        places = {str(name): (str(e["kind"]), folder / str(e["at"])) for name, e in about.items()}
        if edges_on_disk:
            return {name: _on_disk(*place) for name, place in places.items()}
        return {name: Form(kind, _map(place)) for name, (kind, place) in places.items()}
    except ConfigError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFileError(
            f"{folder} must hold a prepared graph that this machine can read "
            f"({type(error).__name__}: {str(error).partition(chr(10))[0]}); keep graph and patches "
            "on a file system that every machine mounts at the same path"
        ) from error


def _on_disk(kind: str, folder: Path) -> Form:
    files = {name: folder / f"{name}.npy" for name in EDGE_ARRAYS}
    if kind != "push" or not files["ends"].exists():
        raise ConfigError(
            "edges can stay on disk for the relations out and in, with refine=0, of graphs of "
            f"{TABLE_FROM} nodes or more (got other patches); leave --edges-on-disk out"
        )
    # a single value is a weight that all edges have
    if array_header(files["weights"])[0] == (1,):
        del files["weights"]
    arrays = _map(folder, tuple(files))
    return Form(kind, {**arrays, **{name: np.empty(0, np.float32) for name in files}}, files)


def _map(folder: Path, without: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    # copy-on-write: compiled functions then take them as they take arrays in memory
    return {
        file.stem: np.load(file, mmap_mode="c", allow_pickle=False).view(np.ndarray)
        for file in sorted(folder.glob("*.npy"))
        if file.stem not in without
    }
