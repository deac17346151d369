"""A graph as a folder of plain arrays, whose features are read from disk row by row."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.data.checks import MASKS, check_edges
from herofilter.data.disk_features import DENSE, SPARSE, DiskFeatures, map_array
from herofilter.data.feature_files import write_features
from herofilter.data.graph_path import ABOUT, check_graph_folder, is_graph_folder
from herofilter.data.npz_file import UNREADABLE
from herofilter.errors import DatasetError, GraphError, HeroFilterError
from herofilter.files import DamagedFileError, read_json, write_json
from herofilter.folders import entries, finish_replacing, locked_folder, replaced_files

KIND = "herofilter graph"
FORMAT = 1
_KEPT = ("edge_index", "edge_weight", "y", *MASKS)
_TEXTS = ("name", "variant")
_BLOCK = 2**20
_CURE = "copy the folder again or pack the graph anew"


def save_graph_folder(
    data: Data, path: str | Path, half: bool = False, callback: Callback | None = None
) -> None:
    """Write a graph as a folder of ``.npy`` files; it appears complete or not at all.

    Edges, weights, labels, masks and features are kept, features that are mostly zero in
    compressed rows. A graph folder that is already there is replaced, anything else refused.

    Args:
        data: the graph; its features may be on disk, and are read in chunks.
        path: the folder.
        half: whether features become float16, which halves the file and keeps three digits.
        callback: takes events of stage ``rows``: rows of features that are written.

    Example:
        >>> import tempfile
        >>> from herofilter.data import csbm
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_graph_folder(csbm(num_nodes=100), Path(folder) / "graph")
        ...     load_graph_folder(Path(folder) / "graph").x.rows(torch.tensor([7, 8])).shape
        torch.Size([2, 32])
    """
    num_nodes = check_edges(data)
    x = None if data.get("featureless", False) else data.x
    if x is not None and (x.dim() != 2 or x.size(0) != num_nodes):
        raise GraphError(
            f"x must have one row of features per node (got shape {list(x.shape)}; "
            f"the graph has {num_nodes} nodes); for a graph without features give x=None"
        )
    about: dict[str, Any] = {"kind": KIND, "format": FORMAT, "num_nodes": num_nodes}
    about |= {name: str(data.get(name)) for name in _TEXTS if data.get(name)}
    folder = Path(path).expanduser().resolve()
    finish_replacing(folder)
    _check_target(folder)
    with locked_folder(folder), replaced_files(folder, last=ABOUT) as (scratch, gone):
        for name in _KEPT:
            value = data.get(name)
            if value is not None:
                if name == "edge_index" and num_nodes <= 2**31:
                    value = value.int()
                np.save(scratch / f"{name}.npy", value.contiguous().numpy())
        if x is not None:
            features = write_features(scratch, x, half, callback)
            about["features"] = {"columns": int(x.size(1)), **features}
        about["files"] = {file.stem: _facts(file) for file in sorted(scratch.glob("*.npy"))}
        write_json(scratch / ABOUT, about)
        gone += [path.name for path in entries(folder)]


def load_graph_folder(path: str | Path) -> Data:
    """Return the graph in a folder, its features a :class:`DiskFeatures`.

    Sizes and types of all files are compared with what was written; :func:`verify_graph_folder`
    reads every byte. Edges, labels and masks are read into memory.
    """
    folder = Path(path).expanduser().resolve()
    about = _read_about(folder)
    try:
        num_nodes, files = int(about["num_nodes"]), about["files"]
        for name, facts in files.items():
            _check_file(folder / f"{name}.npy", facts)
        data = Data(num_nodes=num_nodes)
        for name in _KEPT:
            if name in files:
                array = np.load(folder / f"{name}.npy", allow_pickle=False)
                data[name] = torch.from_numpy(array)
        data.edge_index = data.edge_index.long()
        features = about.get("features")
        if features is not None:
            shape = (num_nodes, int(features["columns"]))
            sparse, packed = bool(features["sparse"]), bool(features["packed"])
            _check_features(files, shape, sparse)
            if sparse:
                _check_rows(folder / f"{SPARSE[0]}.npy", files[SPARSE[1]]["shape"][0])
            data.x = DiskFeatures(folder, shape, sparse, int(features["num_nonzero"]), packed)
        for name in _TEXTS:
            if name in about:
                data[name] = str(about[name])
    except HeroFilterError:
        raise
    except (*UNREADABLE, AttributeError) as error:
        raise DamagedFileError(
            f"{folder} must hold a readable graph ({type(error).__name__}: "
            f"{str(error).partition(chr(10))[0]}); {_CURE}"
        ) from error
    return data


def verify_graph_folder(path: str | Path) -> None:
    """Read every byte of a graph folder; raise unless all are as they were written."""
    folder = Path(path).expanduser().resolve()
    load_graph_folder(folder)
    for name, facts in _read_about(folder)["files"].items():
        found = _crc32(folder / f"{name}.npy")
        if found != facts.get("crc32"):
            raise DamagedFileError(
                f"{folder / name}.npy must be as it was written, but its checksum differs; {_CURE}"
            )


def _read_about(folder: Path) -> dict[str, Any]:
    check_graph_folder(folder)
    try:
        about = read_json(folder / ABOUT)
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"{str(error).partition(chr(10))[0]}; {_CURE}") from error
    if not isinstance(about, dict) or about.get("kind") != KIND:
        raise DatasetError(
            f"{folder / ABOUT} must say that this is a {KIND} (got something else); "
            "make a graph folder with: herofilter pack GRAPH --out FOLDER"
        )
    if not isinstance(about.get("format"), int) or about["format"] > FORMAT:
        raise DatasetError(
            f"{folder} must be of format {FORMAT} or older (got {about.get('format')!r}); "
            "upgrade herofilter"
        )
    files = about.get("files")
    if not isinstance(files, dict) or not set(files) <= {*_KEPT, *DENSE, *SPARSE}:
        raise DamagedFileError(f"{folder / ABOUT} must list the files beside it; {_CURE}")
    return about


def _check_file(path: Path, facts: Mapping[str, Any]) -> None:
    if not path.is_file():
        raise DamagedFileError(f"{path} must be there (got no such file); {_CURE}")
    size = path.stat().st_size
    if size != facts["bytes"]:
        raise DamagedFileError(f"{path} must have {facts['bytes']} bytes (got {size}); {_CURE}")
    array = map_array(path)
    found = array.dtype.str, list(array.shape)
    if found != (facts["dtype"], facts["shape"]):
        raise DamagedFileError(
            f"{path} must hold {facts['dtype']} of shape {facts['shape']} "
            f"(got {found[0]} of shape {found[1]}); {_CURE}"
        )


def _check_features(
    files: Mapping[str, Mapping[str, Any]], shape: tuple[int, int], sparse: bool
) -> None:
    rows = shape[0] + 1 if sparse else shape[0]
    first = files[SPARSE[0] if sparse else DENSE[0]]["shape"]
    fits = first == ([rows] if sparse else list(shape))
    if not fits or (sparse and files[SPARSE[1]]["shape"] != files[SPARSE[2]]["shape"]):
        raise DamagedFileError(
            f"the features must have the shape {list(shape)}, but {ABOUT} lists others; {_CURE}"
        )


def _check_rows(path: Path, num_entries: int) -> None:
    """Raise unless the starts of compressed rows ascend from 0 to the number of entries."""
    starts = map_array(path)
    ends = (int(starts[0]), int(starts[-1]))
    if ends != (0, num_entries) or bool((np.diff(starts) < 0).any()):
        raise DamagedFileError(
            f"{path} must ascend from 0 to {num_entries}, the number of entries (got others); "
            f"{_CURE}"
        )


def _facts(path: Path) -> dict[str, Any]:
    array = map_array(path)
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "bytes": path.stat().st_size,
        "crc32": _crc32(path),
    }


def _crc32(path: Path) -> int:
    total = 0
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            total = zlib.crc32(block, total)
    return total


def _check_target(folder: Path) -> None:
    """Raise a :class:`DatasetError` unless a graph may be written into the folder."""
    if folder.exists() and not (folder.is_dir() and (_holds(folder) or not entries(folder))):
        raise DatasetError(
            f"the graph folder must be new, empty or hold a graph to replace (got {folder}); "
            "give another folder"
        )


def _holds(folder: Path) -> bool:
    """Return whether a folder holds a graph and nothing else that would be lost."""
    known = {ABOUT, *(f"{name}.npy" for name in (*_KEPT, *DENSE, *SPARSE))}
    return is_graph_folder(folder) and {file.name for file in entries(folder)} <= known
