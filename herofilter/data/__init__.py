"""Graphs in: named datasets, your own files, synthetic graphs, splits and checks."""

from herofilter.data.checks import check_graph
from herofilter.data.convert import (
    from_edge_list,
    from_networkx,
    from_pandas,
    from_scipy,
    to_tables,
)
from herofilter.data.datasets import is_own_graph, list_datasets, load_dataset, on_disk
from herofilter.data.disk_features import DiskFeatures
from herofilter.data.encoder import FeatureEncoder
from herofilter.data.features import (
    degree_features,
    density,
    row_normalise,
    to_sparse,
    with_features,
)
from herofilter.data.graph_folder import (
    load_graph_folder,
    save_graph_folder,
    verify_graph_folder,
)
from herofilter.data.heterophilous import read_npz
from herofilter.data.own import OwnGraph, read_graph
from herofilter.data.registry import DatasetInfo
from herofilter.data.splits import num_splits, random_splits, select_split
from herofilter.data.structure import Structure, is_directed, structure, symmetrise
from herofilter.data.synthetic import csbm

__all__ = [
    "DatasetInfo",
    "DiskFeatures",
    "FeatureEncoder",
    "OwnGraph",
    "Structure",
    "check_graph",
    "csbm",
    "degree_features",
    "density",
    "from_edge_list",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "is_directed",
    "is_own_graph",
    "list_datasets",
    "load_dataset",
    "load_graph_folder",
    "num_splits",
    "on_disk",
    "random_splits",
    "read_graph",
    "read_npz",
    "row_normalise",
    "save_graph_folder",
    "select_split",
    "structure",
    "symmetrise",
    "to_sparse",
    "to_tables",
    "verify_graph_folder",
    "with_features",
]
