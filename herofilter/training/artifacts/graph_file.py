"""The graph beside a saved model: arrays in ``graph.npz``, ids in ``ids.parquet``."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.checks import MASKS
from herofilter.data.disk_features import DENSE, SPARSE, DiskFeatures
from herofilter.data.features import csr_tensor
from herofilter.data.npz_file import read_arrays
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.read_graph import TableGraph

GRAPH, IDS = "graph.npz", "ids.parquet"
_KEPT = ("edge_index", "edge_weight", "y", *MASKS)


def write_graph_file(folder: Path, graph: TableGraph) -> None:
    """Write a graph and its ids into a folder."""
    data = graph.data
    tensors = {name: data.get(name) for name in _KEPT}
    if isinstance(data.x, DiskFeatures):
        # copied from file to file, never held completely in memory
        tensors |= dict(zip(SPARSE if data.x.sparse else DENSE, data.x.parts, strict=True))
    elif data.x is not None and data.x.layout == torch.sparse_csr:
        tensors |= {
            "x_crow": data.x.crow_indices(),
            "x_col": data.x.col_indices(),
            "x_value": data.x.values(),
        }
    else:
        tensors["x"] = data.x
    arrays = {name: value.numpy() for name, value in tensors.items() if value is not None}
    with (folder / GRAPH).open("wb") as stream:
        np.savez(
            stream,
            shape=np.array([int(data.num_nodes or 0), int(data.num_features)]),
            notes=np.array(graph.notes, dtype=np.str_),
            class_names=np.array(graph.class_names, dtype=np.str_),
            **arrays,
        )
    pyarrow.parquet.write_table(pa.table({"id": graph.ids}), folder / IDS)


def read_graph_file(
    folder: Path, classes: tuple[str | int | bool, ...], encoder: FeatureEncoder
) -> TableGraph:
    """Return the graph that :func:`write_graph_file` wrote; nothing in it is unpickled."""
    arrays = read_arrays(folder / GRAPH)
    num_nodes, num_features = arrays.pop("shape").tolist()
    notes = tuple(arrays.pop("notes").tolist())
    # earlier versions didn't keep how a table spells its classes
    names = tuple(arrays.pop("class_names", np.empty(0, np.str_)).tolist())
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    data = Data(x=_features(tensors, (num_nodes, num_features)), num_nodes=num_nodes)
    for name in _KEPT:
        if name in tensors:
            data[name] = tensors[name]
    ids = pyarrow.parquet.read_table(folder / IDS).column("id").combine_chunks()
    return TableGraph(data, ids, classes, encoder, notes, names)


def _features(tensors: Mapping[str, Tensor], shape: tuple[int, int]) -> Tensor | None:
    if "x_crow" not in tensors:
        return tensors.get("x")
    crow, col, value = (tensors[name] for name in SPARSE)
    return csr_tensor(crow.long(), col.long(), value, shape)
