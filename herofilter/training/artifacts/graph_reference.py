"""Where the graph of a saved model is, when the model folder has no copy of it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data import is_graph_path, load_graph_folder, save_graph_folder
from herofilter.data.checks import MASKS
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.read_graph import TableGraph
from herofilter.errors import HeroFilterError, RunError
from herofilter.files import load_tensors, read_json, save_tensors, write_json
from herofilter.training.artifacts.fingerprint import fingerprint

REFERENCE, PARTS = "graph.json", "parts.safetensors"
# masks are kept beside the model: those of a named split, or of the caller's own, aren't elsewhere
_CONTENT = ("edge_index", "edge_weight", "x", "y")


@dataclass(frozen=True)
class GraphSource:
    """A graph that :func:`~herofilter.data.load_dataset` can read.

    Args:
        name: a dataset's name, or the path of an ``.npz`` file or a graph folder; a relative path
            counts from the model folder.
        split: the name of a split that has its own version of the graph, such as ``public``.
    """

    name: str
    split: str | None = None

    @classmethod
    def at(cls, name: str | Path, split: str | None = None) -> "GraphSource":
        """Return the source of a graph that the caller has just loaded by ``name``."""
        if is_graph_path(name):
            return cls(str(Path(name).expanduser().resolve()), split)
        return cls(str(name), split)

    def load(self, folder: Path) -> Data:
        """Read the graph; ``folder`` is the model folder."""
        # a model that holds its graph needs no reader of datasets
        from herofilter.data import load_dataset

        name: str | Path = self.name
        if self.split is None and is_graph_path(name):
            name = (folder / name).resolve()
        return load_dataset(name, split=self.split)


@dataclass(frozen=True, eq=False)
class GraphReference:
    """A graph by its source, a fingerprint of its content, and the parts of one split.

    Args:
        source: where it is.
        content: the fingerprint of edges, weights, features and labels as they are read.
        given: that of the graph that was trained on, which a copy may hold in other types.
        parts: the masks of the split that the model was trained on, ``[n]`` each.
        folder: the model folder, for sources with a relative path.
    """

    source: GraphSource
    content: str
    given: str
    parts: dict[str, Tensor]
    folder: Path = Path()

    @classmethod
    def to(cls, source: GraphSource, data: Data) -> "GraphReference":
        """Return the reference to a graph that was loaded from ``source``."""
        given = content_of(data)
        return cls(source, given, given, {})

    @classmethod
    def to_copy(cls, data: Data, folder: Path, name: str) -> "GraphReference":
        """Write a copy of a graph as a graph folder, and return the reference to it.

        ``name`` is its path as seen from the model folders.
        """
        save_graph_folder(data, folder)
        content = content_of(load_graph_folder(folder))
        return cls(GraphSource(name), content, content_of(data), {})

    def with_parts(self, split: Data) -> "GraphReference":
        """Return the reference with the masks of one split."""
        parts = {name: split[name] for name in MASKS if split.get(name) is not None}
        return replace(self, parts=parts)

    def write(self, folder: Path) -> None:
        """Write the reference into a model folder."""
        about = {
            "name": self.source.name,
            "split": self.source.split,
            "content": self.content,
            "given": self.given,
        }
        write_json(folder / REFERENCE, about)
        # eight nodes to a byte
        packed = {
            name: torch.from_numpy(np.packbits(mask.numpy())) for name, mask in self.parts.items()
        }
        sizes = {name: str(mask.numel()) for name, mask in self.parts.items()}
        save_tensors(folder / PARTS, packed, sizes)

    @classmethod
    def read(cls, folder: Path) -> "GraphReference":
        """Return the reference in a model folder; the graph itself isn't read."""
        about: dict[str, Any] = read_json(folder / REFERENCE)
        packed, sizes = load_tensors(folder / PARTS)
        parts = {
            name: torch.from_numpy(np.unpackbits(bits.numpy(), count=int(sizes[name]))).bool()
            for name, bits in packed.items()
        }
        split = about["split"]
        source = GraphSource(str(about["name"]), None if split is None else str(split))
        return cls(source, str(about["content"]), str(about["given"]), parts, folder)

    def load(self, classes: tuple[str | int | bool, ...]) -> TableGraph:
        """Return the graph, once it is found and is the one that the model was trained on."""
        name = self.source.name
        try:
            data = self.source.load(self.folder)
        except HeroFilterError as error:
            raise RunError(
                f"the graph that {self.folder} was trained on must be found as {name} ({error}); "
                "put it back, or train anew"
            ) from error
        if content_of(data) != self.content:
            raise RunError(
                f"{name} must be the graph that {self.folder} was trained on (got other edges, "
                "features or labels); put the old graph back, or train anew"
            )
        for mask in MASKS:
            data.pop(mask, None)
        for mask, nodes in self.parts.items():
            data[mask] = nodes
        ids = pa.array(np.arange(int(data.num_nodes or 0)))
        return TableGraph(data, ids, classes, FeatureEncoder(()))


def content_of(data: Data) -> str:
    """Return the fingerprint of a graph's edges, features and labels, whatever its masks are."""
    content = {name: data[name] for name in _CONTENT if data.get(name) is not None}
    return fingerprint(Data(num_nodes=int(data.num_nodes or 0), **content))
