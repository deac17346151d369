"""Which frequencies help at which heterophily: filters that pass one band each."""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from herofilter.config import Config
from herofilter.report.figure import Figure, HeatMap, Lines, Panel
from herofilter.reproduce.comparison import WINS, compare
from herofilter.reproduce.studies.graphs import LEVELS, blocks
from herofilter.reproduce.studies.study import Finished, Study, Summary, Task
from herofilter.reproduce.studies.training_task import QUICK, training_tasks
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding
from herofilter.spectral.filters import BANDS

SPLITS = 5
_FINE = 41
Cells = Mapping[tuple[float, str], Sequence[float]]


class Best(NamedTuple):
    """The best band of a level, and the bands that are worse beyond their intervals."""

    level: float
    band: str
    beaten: tuple[str, ...]


class BandAccuracy(Study):
    """Does the most useful band depend on heterophily?"""

    name = "band-accuracy"
    title = "Accuracy with one band of frequencies"
    reproduces = "Figure 2 (filtered eigenvalues, heterophily and accuracy)"
    claim = "which band of frequencies helps most depends on heterophily."

    def tasks(self, quick: bool) -> list[Task]:
        levels = (0.1, 0.9) if quick else LEVELS
        nodes, splits = (60, 2) if quick else (500, SPLITS)
        # with a token of its own a node could be classified without the filter
        base = Config().replace(patcher="spectral", filter="band", ego="ranked", patience=30)
        if quick:
            base = base.replace(**QUICK)
        return [
            task
            for level, band in itertools.product(levels, BANDS)
            for task in training_tasks(
                blocks(level, nodes), range(splits), band, base.replace(filter_starts=(band,))
            )
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        cells: dict[tuple[float, str], list[float]] = {}
        for task, record in finished:
            level = float(task.graph.split(":")[1])
            cells.setdefault((level, task.variant), []).append(record["test_accuracy"])
        rows = [
            {
                "heterophily": level,
                "band": band,
                "from": BANDS[band][0],
                "to": BANDS[band][1],
                "test_accuracy": statistics.fmean(values),
                "values": values,
            }
            for (level, band), values in cells.items()
        ]
        best = [best_band(level, cells) for level in sorted({level for level, _ in cells})]
        return Summary(rows, _figure(cells), _finding(cells, best))


def best_band(level: float, cells: Cells) -> Best:
    """Return the band with the best mean accuracy, and those that it beats on paired splits."""
    found = {band: cells[level, band] for band in BANDS}
    best = max(found, key=lambda band: statistics.fmean(found[band]))
    beaten = tuple(
        band
        for band, values in found.items()
        if band != best and compare(best, band, "", found[best], values).verdict == WINS
    )
    return Best(level, best, beaten)


def judge_bands(best: Sequence[Best]) -> tuple[str, str]:
    """Return the word for the claim that the best band depends on the level, and why.

    It holds if two levels have different best bands, each of which beats the other's at its own
    level.
    """
    for one, other in itertools.combinations(best, 2):
        if other.band in one.beaten and one.band in other.beaten:
            return CONFIRMED, (
                f"At heterophily {one.level:g} the {one.band} band is better than the "
                f"{other.band} band, and at {other.level:g} it is the other way round, both "
                "beyond the 95 % intervals of their paired differences."
            )
    levels = [entry for entry in best if entry.beaten]
    if levels:
        return WEAKER, (
            f"Bands differ at {len(levels)} of {len(best)} levels, but no two levels prefer "
            "different bands beyond the 95 % intervals."
        )
    return NOT_CONFIRMED, "At no level is a band better than another beyond the 95 % interval."


def _figure(cells: Cells) -> Figure:
    levels = sorted({level for level, _ in cells})
    centres = [(low + high) / 2 for low, high in BANDS.values()]
    means = [[100 * statistics.fmean(cells[level, band]) for band in BANDS] for level in levels]
    fine_x = [0.2 + 1.6 * step / (_FINE - 1) for step in range(_FINE)]
    span = levels[-1] - levels[0]
    fine_y = [levels[0] + span * step / (_FINE - 1) for step in range(_FINE)]
    smooth = _interpolate(centres, levels, means, fine_x, fine_y)
    x = [round(value, 2) for value in fine_x]
    y = [round(value, 2) for value in fine_y]
    lines = tuple(
        Lines(band, levels, [row[number] for row in means]) for number, band in enumerate(BANDS)
    )
    panels = (
        Panel("interpolated", "eigenvalue of L", "heterophily", (HeatMap(x, y, smooth, "%"),)),
        Panel("measured", "heterophily", "test accuracy (%)", lines),
    )
    return Figure("Accuracy with one band of frequencies", panels)


def _interpolate(
    x: Sequence[float],
    y: Sequence[float],
    z: Sequence[Sequence[float]],
    fine_x: Sequence[float],
    fine_y: Sequence[float],
) -> list[list[float]]:
    from scipy.interpolate import RegularGridInterpolator

    between = RegularGridInterpolator((y, x), z)
    return [[float(between((b, a))) for a in fine_x] for b in fine_y]


def _finding(cells: Cells, best: Sequence[Best]) -> Finding:
    word, why = judge_bands(best)
    table = tuple(
        (
            f"{entry.level:g}",
            entry.band,
            f"{100 * statistics.fmean(cells[entry.level, entry.band]):.1f}",
            ", ".join(entry.beaten) or "none",
        )
        for entry in best
    )
    text = (
        "HeroFilter with a learned filter that passes one fifth of the Laplacian's eigenvalues, on "
        "synthetic graphs of four classes on a ring. The node itself has no slot of its own, so "
        "that the model sees only what the filter has chosen or summed up.",
    )
    titles = ("heterophily", "best band", "test accuracy (%)", "better than")
    return Finding(text, word, why, titles, table)
