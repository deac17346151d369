"""The benchmark of fit: its tables, its summary and, on a tiny graph, the command itself."""

import csv
from pathlib import Path

import pytest

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
    def metrics(kept: float) -> dict[str, object]:
        shown = {"auc": None, "balanced_accuracy": 0.5}
        entry = {"validation": {"accuracy": 0.5}, "trials": 1, "finished": True}
        return {
            "kept": "herofilter",
            "nodes": {"test": 100},
            "models": {
                "gcn": {**entry, "test": {**shown, "accuracy": 0.8}},
                "herofilter": {**entry, "test": {**shown, "accuracy": kept}},
            },
            "unfinished": [],
            "said": ["kept HeroFilter", "the edges help: +1.0 points"],
        }

    # the standard error of 0.8 on a hundred nodes is 0.04
    assert fit.summarise(metrics(0.77))["holds"]
    assert not fit.summarise(metrics(0.75))["holds"]
    assert fit.summarise(metrics(0.77))["edges"].startswith("the edges help")


@pytest.mark.slow
def test_the_command_is_run_as_a_user_would(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = csbm(num_nodes=120, num_classes=2, heterophily=0.1)
    monkeypatch.setattr(fit, "make_graph", lambda name: tiny)
    row = fit.measure("tiny", 25.0)
    assert "failure" not in row
    assert row["seconds"] < 60
    assert row["peak_mib"] > 100
    assert set(row["models"]) >= {"majority", "mlp", "gcn"}
    assert fit.fit_rows([row]).row_count == 1
