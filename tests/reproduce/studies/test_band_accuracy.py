import pytest

from herofilter.reproduce.studies.band_accuracy import Best, best_band, judge_bands
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER
from herofilter.spectral.filters import BANDS


@pytest.mark.parametrize(
    ("best", "word"),
    [
        ([Best(0.1, "low", ("high",)), Best(0.9, "high", ("low", "middle"))], CONFIRMED),
        ([Best(0.1, "low", ("high",)), Best(0.9, "high", ("middle",))], WEAKER),
        ([Best(0.1, "low", ("high",)), Best(0.9, "low", ("high",))], WEAKER),
        ([Best(0.1, "low", ()), Best(0.9, "high", ())], NOT_CONFIRMED),
    ],
)
def test_the_word(best: list[Best], word: str) -> None:
    assert judge_bands(best)[0] == word


def test_the_best_band_beats_those_beyond_their_intervals() -> None:
    cells = {(0.1, band): [0.5, 0.52, 0.51] for band in BANDS}
    cells[0.1, "middle"] = [0.7, 0.73, 0.72]
    cells[0.1, "high"] = [0.9, 0.3, 0.6]
    found = best_band(0.1, cells)
    assert found.band == "middle"
    assert "high" not in found.beaten
    assert set(found.beaten) == {"low", "low-middle", "high-middle"}
