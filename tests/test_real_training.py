"""A short training on two real graphs, one heterophilous and one homophilous."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from herofilter.config import Config
from herofilter.data import load_dataset, on_disk, read_graph
from herofilter.training import train_splits
from herofilter.training.search.fitting import fit_graph

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("HEROFILTER_DATA"), reason="HEROFILTER_DATA isn't set"),
]


@pytest.mark.parametrize(("name", "least"), [("texas", 0.60), ("cora", 0.75)])
def test_few_epochs_reach_a_sane_accuracy(name: str, least: float) -> None:
    if not on_disk(name):
        pytest.skip("not on disk")
    data = load_dataset(name, split=None)
    summary = train_splits(data, "herofilter", Config().replace(epochs=40), [0], name)
    assert summary["test_accuracy"]["mean"] >= least


def test_a_graph_from_csv_is_learned_as_well_as_by_name(tmp_path: Path) -> None:
    """Cora by its words, through text ids and a column of lists."""
    if not on_disk("cora"):
        pytest.skip("not on disk")
    data = load_dataset("cora", split=0)
    names = np.array([f"paper:{number}" for number in range(data.num_nodes)])
    x = data.x.to_dense()
    part = np.full(data.num_nodes, None, dtype=object)
    for name in ("train", "val", "test"):
        part[data[f"{name}_mask"].numpy()] = name
    nodes = pa.table(
        {
            "id": names,
            "words": ["|".join(f"w{word}" for word in row.nonzero().view(-1)) for row in x],
            "topic": [f"topic {label}" for label in data.y.tolist()],
            "part": part,
        }
    )
    source, target = names[data.edge_index.numpy()]
    pyarrow.csv.write_csv(nodes, tmp_path / "nodes.csv")
    pyarrow.csv.write_csv(pa.table({"source": source, "target": target}), tmp_path / "edges.csv")
    own = read_graph(tmp_path / "edges.csv", tmp_path / "nodes.csv", "topic", split="part")
    settings = ("patcher=fast", "epochs=60")
    fitted = fit_graph(own, 600, settings, trials=1)
    usual = train_splits(data, "herofilter", Config().with_settings(settings), [0], "cora")
    least = usual["test_accuracy"]["mean"] - 0.01
    assert fitted.saved.metrics["models"]["herofilter"]["test"]["accuracy"] >= least
    assert any(line.startswith("the edges help") for line in fitted.said)
