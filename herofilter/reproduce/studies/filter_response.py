"""The paper's first figure: what a trained filter passes, against heterophily."""

import math
import statistics
from collections.abc import Sequence

from herofilter.report.figure import Figure, Panel, Surface
from herofilter.reproduce.studies.responses import BANDS, MODELS, level_of, response_tasks
from herofilter.reproduce.studies.study import Finished, Row, Study, Summary, Task
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding

# a band counts as passed if its mean response is at least this share of the largest band's
PASSED = 0.5
PAPERS_MODEL = "chebnet"
_TINY = 1e-6


class FilterResponse(Study):
    """Which frequencies does a trained filter pass on graphs of rising heterophily?"""

    name = "filter-response"
    title = "Trained filters against heterophily"
    reproduces = "Figure 1 (eigenvalues, heterophily and frequency response)"
    claim = (
        "at heterophily 0.1 a trained ChebNet passes low and middle frequencies, and at 0.9 it "
        "still passes low ones."
    )

    def tasks(self, quick: bool) -> list[Task]:
        return response_tasks(quick)

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        rows = [
            {
                "model": entry.task.model,
                "heterophily": level_of(entry),
                "graph": entry.task.graph,
                **{f"{band}_band": entry.record["bands"][band] for band in BANDS},
                "mean_response": entry.record["mean"],
                "test_accuracy": entry.record["test_accuracy"],
                "response": entry.record["response"],
            }
            for entry in finished
        ]
        panels = tuple(_panel(model, finished) for model in MODELS)
        return Summary(rows, Figure("Response of trained filters", panels), _finding(rows))


def _panel(model: str, finished: Sequence[Finished]) -> Panel:
    of_model = [entry for entry in finished if entry.task.model == model]
    levels = sorted({level_of(entry) for entry in of_model})
    surface = []
    for level in levels:
        curves = [entry.record["response"] for entry in of_model if level_of(entry) == level]
        mean = [statistics.fmean(values) for values in zip(*curves, strict=True)]
        surface.append([math.log10(max(value, _TINY)) for value in mean])
    mark = Surface(of_model[0].record["grid"], levels, surface, "log₁₀ |g|")
    return Panel(MODELS[model], "eigenvalue of L", "heterophily", (mark,))


def _finding(rows: Sequence[Row]) -> Finding:
    levels = sorted({row["heterophily"] for row in rows})
    asked = ((levels[0], "low"), (levels[0], "middle"), (levels[-1], "low"))
    table, holds = [], {}
    for model, title in MODELS.items():
        shares = {level: _shares(rows, model, level) for level in (levels[0], levels[-1])}
        holds[model] = [shares[level][band] >= PASSED for level, band in asked]
        table.append((title, *(f"{shares[level][band]:.2f}" for level, band in asked)))
    count = sum(holds[PAPERS_MODEL])
    word = (NOT_CONFIRMED, WEAKER, WEAKER, CONFIRMED)[count]
    others = ", ".join(
        f"{MODELS[model]} {sum(found)}" for model, found in holds.items() if model != PAPERS_MODEL
    )
    low, middle, high = BANDS.values()
    text = (
        f"Synthetic graphs of four classes on a ring. Bands are Laplacian eigenvalues {low[0]:g}–"
        f"{low[1]:g} (low), {middle[0]:g}–{middle[1]:g} (middle) and {high[0]:g}–{high[1]:g} "
        "(high). The table has the mean response in a band as a share of the largest of the three; "
        f"a filter passes a band from {PASSED:g} on.",
    )
    why = (
        f"{count} of the paper's 3 observations hold for ChebNet at heterophily {levels[0]:g} and "
        f"{levels[-1]:g} (and of the same three for {others})."
    )
    titles = ("model", *(f"{band} band at {level:g}" for level, band in asked))
    return Finding(text, word, why, titles, tuple(table))


def _shares(rows: Sequence[Row], model: str, level: float) -> dict[str, float]:
    found = [row for row in rows if (row["model"], row["heterophily"]) == (model, level)]
    means = {band: statistics.fmean(row[f"{band}_band"] for row in found) for band in BANDS}
    largest = max(max(means.values()), _TINY)
    return {band: mean / largest for band, mean in means.items()}
