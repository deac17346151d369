"""The figures of docs/reliability.md are those of the files that the harnesses wrote."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "results" / f"{name}.json").read_text())
    assert f"`{found['command']}`" in PAGE
    return found


def test_faults() -> None:
    found = result("faults")
    wrong = [entry["fault"] for entry in found["wrong"]]
    for kind, counts in found["faults"].items():
        killed = counts.get("killed", 0) if "kill" in kind else "–"
        assert f"| {kind} | {counts['trials']} | {killed} | {wrong.count(kind)} |" in PAGE
    most = max(counts["operations"] for counts in found["commands"].values())
    assert f"{most} operations" in PAGE
    assert f"killing {len(found['commands'])} commands" in PAGE


def test_fuzz() -> None:
    found = result("fuzz")
    assert f"{found['inputs']:,} damaged inputs" in PAGE
    for target, counts in found["targets"].items():
        numbers = (counts.get(kind, 0) for kind in ("taken", "refused", "failed"))
        assert f"| {target} | {' | '.join(map(str, numbers))} |" in PAGE


def test_soak() -> None:
    found = result("soak")
    assert f"{found['rounds']} rounds" in PAGE
    assert f"grew by {100 * found['growth']:.1f} %" in PAGE
    files = found["open_files_after_a_tenth"], found["open_files_at_the_end"]
    assert f"from {files[0]} to {files[1]}" in PAGE


def test_nothing_was_wrong() -> None:
    assert result("fuzz")["failures"] == []
    for entry in result("faults")["wrong"]:
        # what was found and mended was tried again, at every operation
        later = result(f"faults-{entry['command']}")
        assert later["wrong"] == []
        tried = later["faults"]["kills at operations"]["killed"]
        assert tried == later["commands"][entry["command"]]["operations"]
