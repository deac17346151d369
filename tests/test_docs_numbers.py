"""Counts and verdicts in the documents are those of the registries and of the result files."""

import json
import re
from pathlib import Path

from herofilter import list_datasets, list_models
from herofilter.reproduce.studies.verdict import is_constant
from tests.test_docs import DOCUMENTS, README, ROOT

REPRODUCED = ROOT / "results" / "reproduce"
# registered models that aren't called baselines in the documents
OTHERS = {"herofilter", "fast-herofilter", "booster", "neighbour-booster", "majority"}


def test_the_numbers_of_models_and_graphs() -> None:
    names = {model.name for model in list_models()}
    assert f"datasets, {len(names)} models" in README.read_text(encoding="utf-8")
    counted = re.compile(r"\b(\d+) (?:baselines|other models|models to compare with)\b")
    found = [
        (page.name, int(number))
        for page in DOCUMENTS
        for number in counted.findall(page.read_text(encoding="utf-8"))
    ]
    assert len(found) >= 5
    assert [entry for entry in found if entry[1] != len(names - OTHERS)] == []
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"{len(list_datasets())} named graphs" in changelog


def test_the_verdicts_of_the_studies() -> None:
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[([\w-]+)\]\(\S+/finding\.md\) \|[^|]+\| ([\w ]+) \|$", page, re.M)
    assert dict(rows) == {place.parent.name: verdict(place) for place in finished()}


def test_the_measurements_of_fit() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    result = json.loads((ROOT / "results" / "fit.json").read_text(encoding="utf-8"))
    rows = re.findall(
        r"^\| ([\w-]+) \| (\d+) \| (\d+) \| (\d+) \| ([\w-]+) \| (.+) \|$", page, re.M
    )
    shown = {f"{graph} {budget}": rest for graph, budget, *rest in rows}
    assert set(result) == set(shown)
    for name, entry in result.items():
        shares = " | ".join(f"{100 * entry[key]:.1f}" for key in ("blank", "best_simple", "error"))
        expected = [f"{entry['seconds']:.0f}", f"{entry['peak_mib']:.0f}", entry["kept"]]
        assert shown[name][:3] == expected
        # "the edges help" and "the edges do not help" are the beginnings of the sentences
        numbers, verdict = shown[name][3].rsplit(" | ", 1)
        assert numbers == shares
        assert entry["edges"].startswith(verdict)


def test_the_splits_on_which_algorithm_1_answers_one_class() -> None:
    lines = (ROOT / "results/tables/nested/trainings.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in lines.splitlines()]
    # the only rows without a stem are those of Algorithm 1
    trained = [
        record["test_balanced_accuracy"]
        for record in records
        if record["model"] == "herofilter" and record["settings"].get("stem") is False
    ]
    page = (ROOT / "docs" / "baselines.md").read_text(encoding="utf-8")
    assert f"On {sum(map(is_constant, trained))} of these {len(trained)} splits" in page


def finished() -> list[Path]:
    return sorted(REPRODUCED.glob("*/finding.md"))


def verdict(finding: Path) -> str:
    """Return the word at the end of a finding."""
    found = re.search(r"Verdict: \*\*([\w ]+)\*\*\s*\Z", finding.read_text(encoding="utf-8"))
    assert found is not None, finding
    return found.group(1)
