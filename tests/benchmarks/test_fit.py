"""The benchmark of fit: its tables, its summary and, on a tiny graph, the command itself."""

import csv
from pathlib import Path

import pytest
import torch

from benchmarks import fit
from herofilter import csbm


def test_tables_hold_the_graph_and_hide_two_labels_in_five(tmp_path: Path) -> None:
    data = csbm(num_nodes=200, num_classes=3, num_features=4)
    fit.write_tables(data, tmp_path)
    with (tmp_path / "nodes.csv").open() as file:
        nodes = list(csv.DictReader(file))
    assert list(nodes[0]) == ["id", "x0", "x1", "x2", "x3", "label"]
    assert 0.3 < sum(not row["label"] for row in nodes) / 200 < 0.5
    assert all(
        row["label"] in ("", f"class {y}") for row, y in zip(nodes, data.y.tolist(), strict=True)
    )
    assert float(nodes[7]["x2"]) == pytest.approx(float(data.x[7, 2]), rel=1e-5)
    edges = (tmp_path / "edges.csv").read_text().splitlines()
    assert len(edges) == 1 + data.edge_index.size(1)


def test_the_kept_model_may_be_one_error_below_the_best_simple_one() -> None:
    entry = {"validation": {"accuracy": 0.5}, "trials": 1, "finished": True}
    shown = {**entry, "test": {"accuracy": 0.7, "auc": None}}
    metrics = {
        "kept": "herofilter",
        "models": {"mlp": shown, "gcn": shown, "herofilter": shown},
        "unfinished": [],
        "said": ["kept HeroFilter", "the edges help: +1.0 points"],
    }

    def right(only_gcn: int, only_hero: int) -> dict[str, torch.Tensor]:
        hits = torch.zeros(3, 100, dtype=torch.bool)
        hits[1, :only_gcn] = True
        hits[2, only_gcn : only_gcn + only_hero] = True
        return dict(zip(("mlp", "gcn", "herofilter"), hits, strict=True))

    # nine nodes differ, so that the standard error is about three nodes
    near, far = (fit.summarise(metrics, right(*counts)) for counts in ((5, 4), (7, 2)))
    assert near["holds"]
    assert near["difference"] == pytest.approx(-0.01)
    assert near["error"] == pytest.approx(0.03, rel=0.02)
    assert near["best_simple"] == pytest.approx(0.05)
    assert not far["holds"]
    assert near["edges"].startswith("the edges help")


@pytest.mark.slow
def test_the_command_is_run_as_a_user_would(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = csbm(num_nodes=120, num_classes=2, heterophily=0.1)
    monkeypatch.setattr(fit, "make_graph", lambda name: tiny)
    row = fit.measure("tiny", 25.0)
    assert "failure" not in row
    assert row["seconds"] < 60
    assert row["peak_mib"] > 100
    assert set(row["models"]) >= {"majority", "mlp", "gcn"}
    assert row["blank_nodes"] == int(fit.hidden_nodes(tiny).sum())
    # the edges of so homophilic a graph tell the class
    assert row["blank"] > 0.8
    assert row["models"]["majority"]["blank"] < 0.7
    assert fit.fit_rows([row]).row_count == 1
