"""Fitted models to serve, and tables as JSON."""

import csv
import json
from pathlib import Path
from typing import Any

from herofilter.config import Config
from herofilter.data import TableGraph, read_graph
from herofilter.predict import Predictor
from herofilter.training.recipe import PreparedGraphs, fit_split, make_predictor, settle
from herofilter.training.search.fitting import with_split

MODELS = {
    "herofilter": ["patch_size=4", "directed=keep"],
    "gcn": [],
    "mlp": [],
    "neighbour-booster": [],
}


def fit_tables(folder: Path, name: str) -> Predictor:
    """Fit a model to the tables of a folder."""
    return fit_graph(read_graph(folder / "edges.csv", folder / "nodes.csv", "topic"), name)


def fit_graph(graph: TableGraph, name: str) -> Predictor:
    """Fit a model to a graph with labels."""
    graph = with_split(graph, 0)
    config = Config().replace(epochs=20, hidden_channels=8).with_settings(MODELS[name])
    config = settle(graph.data, name, config)
    trained = fit_split(PreparedGraphs(graph.data, len(graph.classes)), name, config)
    return make_predictor(trained, graph, graph.encoder)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def new_tables(folder: Path) -> dict[str, Any]:
    """Return the new tables as a client would send them: numbers as numbers, gaps as null."""
    nodes: list[dict[str, Any]] = []
    for row in rows(folder / "new_nodes.csv"):
        numbers = {
            name: json.loads(row[name]) if row[name] else None
            for name in ("age", "score", "height")
        }
        nodes.append({**row, **numbers})
    edges = [[row["source"], row["target"]] for row in rows(folder / "new_edges.csv")]
    return {"nodes": nodes, "edges": edges}
