"""Start-up is measured in separate processes, as ratios to one of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import startup
from benchmarks.startup import BAR, BASE, LINES, Cost, Line, main, measure, run_startup
from herofilter.reproduce.speed.child import Outcome

# a separate process: memory of this one would count as that of the processes it starts
MEASURE = """
import json
from pathlib import Path
from benchmarks.startup import measure
codes = {
    "plain": "pass",
    "asleep": "import time; time.sleep(0.7)",
    "busy": "import time\\nwhile time.process_time() < 0.5: pass",
    "wide": "bytearray(b'x') * 2**28",
}
costs = {name: measure(("-c", code), Path()) for name, code in codes.items()}
print(json.dumps({name: [cost.seconds, cost.peak_bytes] for name, cost in costs.items()}))
"""


def test_cpu_seconds_and_memory_are_those_of_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, timeout=60
    )
    costs = {name: Cost(*values) for name, values in json.loads(done.stdout).items()}
    assert costs["busy"].seconds > 0.45
    assert costs["asleep"].seconds < 0.45
    assert 0 < costs["plain"].peak_bytes < 2**27
    assert costs["wide"].peak_bytes > 2**28


def test_a_wrong_exit_code_ends_the_benchmark(tmp_path: Path) -> None:
    assert measure(("-c", "exit(2)"), tmp_path, code=2).seconds > 0
    with pytest.raises(SystemExit, match=r"must end with 0 \(got 3\): what went wrong"):
        measure(("-c", "print('what went wrong'); exit(3)"), tmp_path)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Replace processes by costs: torch takes 2 s, and 9 s the first time; all else 0.5 s."""
    words: list[tuple[str, ...]] = []

    def fake(line: tuple[str, ...], folder: Path, code: int = 0) -> Cost:
        words.append(line)
        first = words.count(line) == 1
        return Cost((9.0 if first else 2.0) if line == LINES[BASE].words else 0.5, 2**20)

    monkeypatch.setattr(startup, "measure", fake)
    return words


def test_ratios_leave_the_first_run_out(ran: list[tuple[str, ...]]) -> None:
    lines = {BASE: LINES[BASE], "other": Line(("-c", "pass"), bar=0.3)}
    result = run_startup(2, lines)
    assert [row["ratio"] for row in result["rows"]] == [1.0, 0.25]
    assert [row["bar"] for row in result["rows"]] == [None, 0.3]
    # a model is fitted first, and then the lines are interleaved
    assert ran[0][2] == "fit"
    assert ran[1:] == [line.words for line in lines.values()] * 3


def test_the_command_writes_a_table(
    ran: list[tuple[str, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(startup, "RESULT", tmp_path / "startup.json")
    monkeypatch.setattr(startup, "run_child", lambda work: Outcome({"python": "3"}))
    main(["--json", "--write", "--repeats", "1"])
    result = json.loads(capsys.readouterr().out)
    assert [row["what"] for row in result["rows"]] == list(LINES)
    bars = {row["what"]: row["bar"] for row in result["rows"] if row["bar"] is not None}
    assert bars == {"herofilter --help": BAR, "herofilter trian (a typo)": BAR}
    written = json.loads((tmp_path / "startup.json").read_text(encoding="utf-8"))
    assert written == {**result, "environment": {"python": "3"}}
    main(["--repeats", "1"])
    assert "herofilter explain" in capsys.readouterr().out


@pytest.mark.slow
def test_a_model_is_saved_that_can_be_used(tmp_path: Path) -> None:
    startup.save_model(tmp_path)
    for name in ("herofilter predict", "herofilter explain"):
        assert measure(LINES[name].words, tmp_path).seconds > 0
