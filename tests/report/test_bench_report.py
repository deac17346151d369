import json
from pathlib import Path

import pytest

from herofilter.report.bench_report import (
    Measured,
    accuracy_bench_page,
    bench_page,
    filters_bench_page,
)
from herofilter.report.page import render_page
from herofilter.report.page_parts import Page, Table

RESULTS = Path(__file__).parents[2] / "results"


def table(page: Page) -> Table:
    (found,) = page.sections[1].parts
    assert isinstance(found, Table)
    return found


def test_every_measured_model_is_on_the_page() -> None:
    cells = {
        "texas": {"mlp": Measured(0.7, 0.01), "gcn": Measured(0.5, 0.02), "never": None},
        "cora": {"mlp": Measured(0.6, 0.01), "gcn": None},
    }
    models = {"mlp": "MLP", "gcn": "<GCN>", "never": "Never"}
    page = bench_page("Bench", "About.", "herofilter bench", models, cells)
    assert table(page).titles == ("graph", "MLP", "<GCN>")
    assert table(page).rows == (
        ("texas", "70.0 ± 1.0", "50.0 ± 2.0"),
        ("cora", "60.0 ± 1.0", "–"),
    )
    assert page.charts[0].finding == "MLP has the highest mean on 2 of 2 graphs."
    assert "&lt;GCN&gt;" in render_page(page)


def test_what_is_not_measured_is_named_and_left_out() -> None:
    models = {f"m{number}": f"Model {number}" for number in range(9)}
    cells = {
        "texas": {key: Measured(0.5 + 0.01 * (key == "m1"), 0.1) for key in models},
        "cora": {key: Measured(0.5 + 0.01 * (key == "m2"), 0.1) for key in models},
        "actor": dict.fromkeys(models),
    }
    page = bench_page("Bench", "About.", "herofilter bench", models, cells)
    assert page.subtitle == "9 models on 2 graphs"
    assert page.sections[0].parts[0].paragraphs[1] == "Not measured yet: actor."
    assert [row[0] for row in table(page).rows] == ["texas", "cora"]
    # nine bars a graph would share colours
    assert [chart.name for chart in page.charts] == ["matrix"]
    said = "Model 1 and Model 2 have, each, the highest mean on 1 of 2 graphs."
    assert page.charts[0].finding == said
    nothing = bench_page("Bench", "About.", "herofilter bench", models, {"actor": {}})
    assert not nothing.charts
    assert "Not measured yet: actor." in render_page(nothing)


@pytest.mark.parametrize(
    ("name", "make", "key"),
    [
        ("accuracy.json", accuracy_bench_page, "columns"),
        ("filters.json", filters_bench_page, "variants"),
    ],
)
def test_published_results_have_a_page(name: str, make, key: str) -> None:
    result = json.loads((RESULTS / name).read_text())
    page = make(result)
    assert [row[0] for row in table(page).rows] == list(result["graphs"])
    entry = result["graphs"]["texas"][key]
    column = next(iter(entry))
    mean = f"{100 * entry[column]['test_accuracy']['mean']:.1f}"
    assert any(mean in cell for cell in table(page).rows[0])
    assert len(render_page(page)) < 4_000_000
