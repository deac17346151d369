"""What is fed with damaged inputs: tables, Arrow types, graphs, models, settings, requests."""

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from benchmarks.fuzz_bytes import any_value, changed, damage
from benchmarks.fuzz_inputs import COUNT, IDS, any_column, node_table, row, write_folder
from herofilter.config import Config, from_earlier
from herofilter.data import load_dataset, read_graph
from herofilter.files import write_json
from herofilter.patchers import PatchStore
from herofilter.predict import Predictor
from herofilter.predict.tables import predict_tables
from herofilter.serve.bodies import ExplainRequest, PredictRequest, parse_body
from herofilter.serve.limits import Limits
from herofilter.serve.service import Service
from herofilter.training.recipe import PreparedGraphs, fit_split, make_predictor, settle
from herofilter.training.search.fitting import with_split
from herofilter.training.search.presets import read_preset, write_preset

_QUICK = Config().replace(epochs=2, hidden_channels=4, patch_size=3)
_PARTS = ("train", "val", "test")


class Targets:
    """Feeds one input to one part of the package; ``folder`` is for files.

    An input that is refused raises a :class:`HeroFilterError`; anything else is a failure.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def names(self) -> dict[str, Callable[[random.Random], None]]:
        """The function of each target."""
        return {
            "tables": self.tables,
            "arrow": self.arrow,
            "npz": self.npz,
            "model": self.model,
            "settings": self.settings,
            "requests": self.requests,
            "parquet": self.parquet,
            "graphs": self.graphs,
            "patches": self.patches,
        }

    def tables(self, draw: random.Random) -> None:
        """Read a pair of CSV files, one of them damaged."""
        nodes = "\n".join(["id,age,country,tags,topic", *(row(number) for number in range(9))])
        edges = "\n".join(
            ["source,target,weight", *(f"{IDS[i]},{IDS[i + 1]},1.5" for i in range(8))]
        )
        texts = {"nodes.csv": nodes.encode(), "edges.csv": edges.encode()}
        for name in draw.sample(list(texts), draw.randint(1, 2)):
            texts[name] = damage(texts[name], draw)
        for name, content in texts.items():
            (self.folder / name).write_bytes(content)
        edge_file, node_file = self.folder / "edges.csv", self.folder / "nodes.csv"
        weight, drop = draw.choice((None, "weight")), draw.random() < 0.5
        read_graph(edge_file, node_file, "topic", weight=weight, drop_unknown=drop)

    def arrow(self, draw: random.Random) -> None:
        """Read tables whose columns have any of Arrow's types, and predict with them."""
        nodes = node_table()
        columns = {name: nodes[name].combine_chunks() for name in nodes.column_names}
        edges = {"source": pa.array(IDS), "target": pa.array(IDS[::-1])}
        for name in draw.sample(("id", "topic", "age", "country", "tags", "more"), 2):
            columns[name] = any_column(draw)
        if draw.random() < 0.3:
            edges[draw.choice(("source", "target", "weight"))] = any_column(draw)
        if draw.random() < 0.05:
            columns = {name: column.slice(0, 0) for name, column in columns.items()}
        weight = "weight" if "weight" in edges else None
        features = None if draw.random() < 0.8 else ["age"]
        read_graph(pa.table(edges), pa.table(columns), "topic", weight=weight, features=features)
        columns["id"] = pa.array([f"n{number}" for number in range(len(columns["id"]))])
        columns.pop("topic")
        edges = {"source": columns["id"], "target": columns["id"]}
        _check(predict_tables(self._predictor, pa.table(edges), pa.table(columns)).probabilities)

    def parquet(self, draw: random.Random) -> None:
        """Read a pair of Parquet files, one of them damaged."""
        tables = {"nodes": node_table(), "edges": pa.table({"source": IDS, "target": IDS[::-1]})}
        paths = {name: self.folder / f"{name}.parquet" for name in tables}
        for name, table in tables.items():
            pq.write_table(table, paths[name], compression=draw.choice(("none", "snappy", "zstd")))
        path = paths[draw.choice(list(paths))]
        path.write_bytes(damage(path.read_bytes(), draw))
        read_graph(paths["edges"], paths["nodes"], "topic")

    def graphs(self, draw: random.Random) -> None:
        """Load a damaged graph folder, and read all its features."""
        folder = self._damaged("graph", draw)
        data = load_dataset(folder, split=0)
        if data.x is not None:
            data.x.whole()

    def patches(self, draw: random.Random) -> None:
        """Open a damaged folder of patches, and read all of them."""
        folder = self._damaged("patches", draw)
        patches = PatchStore.open(folder).patches()
        patches.homophily(torch.arange(COUNT) % 2)

    def npz(self, draw: random.Random) -> None:
        """Load a graph from an npz file with damaged bytes or unexpected arrays."""
        path = self.folder / "graph.npz"
        arrays: dict[str, Any] = {
            "edges": np.array([[i, (i * 7 + 1) % 30] for i in range(30)]),
            "node_labels": np.arange(30) % 3,
            "node_features": np.ones((30, 2), np.float32),
            **{
                f"{part}_masks": np.arange(30)[None] % 3 == i
                for i, part in enumerate(("train", "val", "test"))
            },
        }
        for _ in range(draw.randrange(3)):
            key = draw.choice((*arrays, "directed", "more"))
            shape = tuple(draw.choice((0, 1, 2, 3, 30)) for _ in range(draw.randrange(4)))
            kind = draw.choice(("<i4", ">i8", "<f2", "<f8", "?", "<U5", "<c8", "|u1", "<M8[s]"))
            arrays[key] = np.full(shape, draw.choice((0, 1, 2_000_000_000, -1)), "<i8").astype(kind)
        draw.choice((np.savez, np.savez_compressed))(path, **arrays)
        if draw.random() < 0.7:
            path.write_bytes(damage(path.read_bytes(), draw))
        load_dataset(path, split=0)

    def model(self, draw: random.Random) -> None:
        """Load and use a model with damaged files whose checksums are right."""
        made = self._model
        folder = self.folder / "model"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)
        names = sorted(path.name for path in folder.iterdir())
        path = folder / draw.choice(names)
        if path.suffix == ".json" and draw.random() < 0.7:
            path.write_text(json.dumps(changed(json.loads(path.read_text()), draw)))
        else:
            path.write_bytes(damage(path.read_bytes(), draw))
        seal = folder / "model.json"
        if path != seal:
            about = json.loads(seal.read_text())
            about["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
            write_json(seal, about)
        _check(Predictor.load(folder).predict_proba())

    def settings(self, draw: random.Random) -> None:
        """Read settings as texts, as a dictionary and as a preset."""
        sections = Config().to_dict()
        section = draw.choice(list(sections))
        key = draw.choice([field.name for field in fields(getattr(Config(), section))])
        kind = draw.randrange(3)
        if kind == 0:
            text = f"{draw.choice((key, section + '.' + key, ''))}={any_value(draw)}"
            Config().with_settings([damage(text.encode(), draw).decode(errors="ignore")])
        elif kind == 1:
            Config.from_dict(from_earlier({**sections, section: changed(sections[section], draw)}))
        else:
            path = self.folder / "preset.yaml"
            write_preset(path, "x", "tuned", "herofilter", Config(), {})
            path.write_bytes(damage(path.read_bytes(), draw))
            read_preset(path)

    def requests(self, draw: random.Random) -> None:
        """Answer a request whose body is damaged."""
        body: Any = {
            "nodes": [{"id": "n", "age": 3, "country": "DE", "tags": "a|b"}],
            "edges": [["n", "user:1"], {"source": "n", "target": "user:2"}],
            "ids": ["n", "user:1"],
        }
        for _ in range(draw.randint(1, 3)):
            body = changed(body, draw)
        content = json.dumps(body).encode()
        if draw.random() < 0.3:
            content = damage(content, draw)
        if draw.random() < 0.2:
            value = {"id": "user:1", **body} if isinstance(body, dict) else body
            request = parse_body(json.dumps(value).encode(), ExplainRequest, Limits())
            self._service.explain(request)
            return
        json.dumps(self._service.predict(parse_body(content, PredictRequest, Limits())))

    def _damaged(self, name: str, draw: random.Random) -> Path:
        """Return a copy of a folder in which one file is damaged."""
        made, folder = self.folder / "made", self.folder / name
        if not made.exists():
            write_folder(name, made)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)
        path = draw.choice(sorted(folder.iterdir()))
        if path.suffix == ".json" and draw.random() < 0.7:
            path.write_text(json.dumps(changed(json.loads(path.read_text()), draw)))
        elif draw.random() < 0.5:
            # of the right size
            content = bytearray(path.read_bytes())
            at = draw.randrange(len(content))
            content[at : at + 8] = draw.randbytes(len(content[at : at + 8]))
            path.write_bytes(content)
        else:
            path.write_bytes(damage(path.read_bytes(), draw))
        return folder

    @property
    def _predictor(self) -> Predictor:
        return _fitted()

    @property
    def _service(self) -> Service:
        return _served()

    @property
    def _model(self) -> Path:
        folder = self.folder / "made"
        if not (folder / "model.json").exists():
            _fitted().save(folder)
        return folder


@cache
def _fitted() -> Predictor:
    """Return a model of a few nodes, fitted on tables."""
    nodes = node_table()
    edges = pa.table({"source": IDS, "target": [*IDS[5:], *IDS[:5]]})
    graph = with_split(read_graph(edges, nodes, "topic"), 0)
    config = settle(graph.data, "herofilter", _QUICK)
    trained = fit_split(PreparedGraphs(graph.data, len(graph.classes)), "herofilter", config)
    return make_predictor(trained, graph, graph.encoder)


@cache
def _served() -> Service:
    return Service(_fitted())


def _check(probabilities: Tensor) -> None:
    if not bool(probabilities.isfinite().all()):
        raise ArithmeticError("probabilities must be finite")
