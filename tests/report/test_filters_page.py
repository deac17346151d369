import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from herofilter.report.filters_page import NEITHER, comparisons, filters_page, verdicts
from herofilter.training.split_metrics import spread
from tests.report.test_accuracy_page import tables

ROOT = Path(__file__).parent.parent.parent


def entry(values: list[float], moved: float = 0.0) -> dict[str, Any]:
    return {
        "seconds": 12.34,
        "val_accuracy": spread(values),
        "test_accuracy": spread([value - 0.1 for value in values]),
        "patch_homophily": spread([0.4567] * len(values)),
        "movement": spread([moved] * len(values)),
    }


def made_up() -> dict[str, Any]:
    names = ("ppr", "fixed", "learned", "shared")
    accuracy = {
        "texas": ([0.8, 0.82, 0.81], [0.7, 0.72, 0.73], [0.8, 0.81, 0.82], [0.7, 0.6, 0.5]),
        "cora": ([0.9, 0.9], [0.8, 0.9], [0.85, 0.84], [0.85, 0.84]),
        "one": ([0.5], [0.5], [0.9], [0.9]),
    }
    settings = {
        "ppr": ["patcher=fast"],
        "fixed": ["learn_filter=false"],
        "shared": ["filter=shared"],
    }
    return {
        "command": "herofilter bench filters",
        "base": ["patcher=spectral", "patch_size=9"],
        "variants": {
            name: {"title": name.title(), "settings": settings.get(name, []), "asks": "Why?"}
            for name in names
        },
        "workers": [2],
        "cores": [4],
        "environments": [],
        "graphs": {
            graph: {
                "variant": "geom-gcn 48/32/20",
                "why": "small",
                "splits": list(range(len(rows[0]))),
                "variants": {
                    name: entry(row, 0.0 if name in ("ppr", "fixed") else 0.0512)
                    for name, row in zip(names, rows, strict=True)
                },
            }
            for graph, rows in accuracy.items()
        },
    }


def test_tables() -> None:
    variants, validation, test, homophily, moved, seconds = tables(filters_page(made_up()))
    assert variants[2:4] == [
        ["`ppr`", "Ppr", "`patcher=fast`", "Why?"],
        ["`fixed`", "Fixed", "`learn_filter=false`", "Why?"],
    ]
    assert variants[4] == ["`learned`", "Learned", "–", "Why?"]
    assert validation[0] == ["variant", "texas", "cora", "one"]
    assert validation[3] == ["`fixed`", "71.7 ± 1.5", "85.0 ± 7.1", "50.0"]
    assert test[3] == ["`fixed`", "61.7 ± 1.5", "75.0 ± 7.1", "40.0"]
    assert homophily[2] == ["`ppr`", "0.457", "0.457", "0.457"]
    assert [row[1] for row in moved[2:]] == ["0.0", "0.0", "5.1", "5.1"]
    assert seconds[5] == ["`shared`", "12.3", "12.3", "12.3"]


def test_comparisons_are_paired() -> None:
    found = {(c.first, c.second, c.graph): c for c in comparisons(made_up())}
    assert len(found) == 9
    pair = found["learned", "fixed", "texas"]
    differences = [0.1, 0.09, 0.09]
    assert pair.difference == pytest.approx(statistics.fmean(differences))
    assert pair.error == pytest.approx(statistics.stdev(differences) / 3**0.5)
    assert pair.verdict == "wins"
    # three splits: the interval reaches over 4.3 standard errors
    assert found["shared", "learned", "texas"].verdict == NEITHER
    # the same values: no difference, and no standard error
    same = found["shared", "learned", "cora"]
    assert (same.difference, same.error, same.verdict) == (0.0, 0.0, NEITHER)
    assert found["learned", "fixed", "cora"].verdict == NEITHER
    # one split has no standard error, however large the difference
    assert found["learned", "fixed", "one"].error is None
    assert found["learned", "fixed", "one"].verdict == NEITHER


def test_chance_of_a_verdict() -> None:
    found = {c.graph: c.chance for c in comparisons(made_up())}
    assert found == {"texas": 0.05, "cora": 0.05, "one": 0.0}


def test_verdicts() -> None:
    assert verdicts(made_up()) == [
        "learned against fixed: wins on texas (+9.3 ± 0.3); no difference that these splits can "
        "show on cora (-0.5 ± 5.5), one (+40.0).",
        "learned against ppr: no difference that these splits can show on texas (+0.0 ± 0.6), "
        "cora (-5.5 ± 0.5), one (+40.0).",
        "shared against learned: no difference that these splits can show on texas "
        "(-21.0 ± 6.4), cora (+0.0 ± 0.0), one (+0.0).",
    ]


def test_text() -> None:
    page = filters_page(made_up())
    assert page.startswith(
        "# Is a learned filter better than a fixed one?\n\n"
        "This page is written by `herofilter bench filters`"
    )
    assert "Don't edit it by hand" in page
    assert "Choices are made on validation accuracy" in page
    assert "The test table is for the record" in page
    assert (
        "the learned filter wins 1 and loses 0 of 3 comparisons; in 2 there is no difference that "
        "these splits can show. The mean difference over them is +16.3 points"
    ) in page
    assert "The rule named a winner in 1 of 9 comparisons" in page
    assert "it would still do so in about 0 if splits were independent" in page
    assert "- **texas**: small; 3 splits. Data: geom-gcn 48/32/20.\n" in page
    assert all(f"- {line}\n" in page for line in verdicts(made_up()))
    assert page.endswith("\n")
    assert "\n\n\n" not in page


def test_verdicts_do_not_see_the_test_labels() -> None:
    result = made_up()
    for row in result["graphs"].values():
        for variant in row["variants"].values():
            variant["test_accuracy"] = spread([0.0] * len(row["splits"]))
    assert verdicts(result) == verdicts(made_up())


def test_a_study_without_pairs() -> None:
    result = made_up()
    result["variants"] = {"fixed": result["variants"]["fixed"]}
    assert "Nothing: no two of these variants are compared" in filters_page(result)
    assert verdicts(result) == []


def test_the_page_is_the_same_after_a_file() -> None:
    assert filters_page(json.loads(json.dumps(made_up()))) == filters_page(made_up())


def test_the_published_page_is_that_of_the_published_results() -> None:
    results, page = ROOT / "results/filters.json", ROOT / "docs/filters.md"
    if not results.exists() and not page.exists():
        pytest.skip("the study hasn't been published yet")
    result = json.loads(results.read_text(encoding="utf-8"))
    assert page.read_text(encoding="utf-8") == filters_page(result)
