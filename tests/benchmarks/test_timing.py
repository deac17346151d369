"""The number of repetitions of a measurement."""

import pytest

from herofilter.reproduce.speed import timing
from herofilter.reproduce.speed.timing import repeated


@pytest.mark.parametrize(
    ("seconds", "limits", "expected"),
    [
        (1.0, {"most": 5}, 5),
        (1.0, {"most": 5, "budget": 3.0}, 3),
        # the first call is never left out
        (9.0, {"most": 5, "budget": 3.0}, 1),
        (0.25, {"most": 5, "least": 3.0}, 12),
        (0.25, {"most": 5, "least": 3.0, "budget": 2.0}, 8),
    ],
)
def test_calls(
    seconds: float, limits: dict[str, float], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(timing, "seconds_of", lambda work: work() or seconds)
    times = repeated(lambda: calls.append(0), **limits)  # type: ignore[arg-type]
    assert len(times) == len(calls) == expected
