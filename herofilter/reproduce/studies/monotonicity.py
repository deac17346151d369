"""Does a trained filter's mean response rise or fall with heterophily?"""

import itertools
import statistics
from collections.abc import Sequence

import numpy as np

from herofilter.report.figure import Figure, Lines, Panel, Points
from herofilter.reproduce.studies.filter_response import PAPERS_MODEL
from herofilter.reproduce.studies.responses import MODELS, level_of, response_tasks
from herofilter.reproduce.studies.study import Finished, Row, Study, Summary, Task
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding

RESAMPLES = 2000


class Monotonicity(Study):
    """Is the relation of heterophily and mean response monotonic?"""

    name = "monotonicity"
    title = "Mean response against heterophily"
    reproduces = "the claim of Proposition 1 and Figure 1 that the relation isn't monotonic"
    claim = "the mean response of a filter and heterophily have no strictly monotonic relation."

    def tasks(self, quick: bool) -> list[Task]:
        return response_tasks(quick)

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        rows, panels = [], []
        for model, title in MODELS.items():
            pairs = [
                (level_of(entry), entry.record["mean"])
                for entry in finished
                if entry.task.model == model
            ]
            row = {"model": model, "title": title, **correlation(pairs)}
            rows.append(row)
            levels, means = row["levels"], row["means"]
            marks = (
                Lines("mean over graphs", levels, means),
                Points("single graphs", *map(list, zip(*pairs, strict=True))),
            )
            heading = f"{title}: ρ = {row['spearman']:.2f}"
            panels.append(Panel(heading, "heterophily", "mean response / largest", marks))
        figure = Figure("Mean response of trained filters", tuple(panels))
        return Summary(rows, figure, _finding(rows))


def correlation(pairs: Sequence[tuple[float, float]], seed: int = 0) -> Row:
    """Return Spearman's ρ over all graphs with a bootstrap interval, and the means per level.

    A resample draws as many graphs as there are of each level, so that all levels stay.

    Example:
        >>> found = correlation([(0.1, 1.0), (0.1, 1.1), (0.5, 2.0), (0.5, 2.1), (0.9, 3.0)])
        >>> round(found["spearman"], 2), found["strictly_monotonic"]
        (0.95, True)
    """
    levels = sorted({level for level, _ in pairs})
    groups = [np.array([value for at, value in pairs if at == level]) for level in levels]
    means = [float(group.mean()) for group in groups]
    rng = np.random.default_rng(seed)
    places = np.concatenate(
        [np.full(group.size, level) for level, group in zip(levels, groups, strict=True)]
    )
    resampled = [
        _spearman(places, np.concatenate([rng.choice(group, group.size) for group in groups]))
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(resampled, [0.025, 0.975])
    steps = [b - a for a, b in itertools.pairwise(means)]
    return {
        "spearman": _spearman(places, np.concatenate(groups)),
        "interval": [float(low), float(high)],
        "strictly_monotonic": all(step > 0 for step in steps) or all(step < 0 for step in steps),
        "levels": levels,
        "means": means,
    }


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    from scipy.stats import rankdata

    a, b = (rankdata(values) - (x.size + 1) / 2 for values in (x, y))
    size = float(np.sqrt((a @ a) * (b @ b)))
    # equal values have no order
    return float(a @ b) / size if size > 0 else 0.0


def judge_monotonicity(row: Row) -> tuple[str, str]:
    """Return the word for the claim that a relation isn't monotonic, and why."""
    low, high = row["interval"]
    said = f"ρ = {row['spearman']:.2f}, 95 % interval {low:.2f} to {high:.2f}"
    if row["strictly_monotonic"]:
        return NOT_CONFIRMED, f"The mean response rises or falls at every level ({said})."
    if low <= 0 <= high:
        return CONFIRMED, f"No monotonic trend can be shown ({said})."
    return WEAKER, f"The relation isn't strictly monotonic, but there is a clear trend ({said})."


def _finding(rows: Sequence[Row]) -> Finding:
    by_model = {row["model"]: row for row in rows}
    word, why = judge_monotonicity(by_model[PAPERS_MODEL])
    table = tuple(
        (
            row["title"],
            f"{row['spearman']:.2f}",
            f"{row['interval'][0]:.2f} to {row['interval'][1]:.2f}",
            judge_monotonicity(row)[0],
        )
        for row in rows
    )
    mean = statistics.fmean(abs(row["spearman"]) for row in rows)
    text = (
        "The mean of |g| over the graph's eigenvalues, relative to the largest |g|, and Spearman's "
        "rank correlation with heterophily over all graphs. The word is for ChebNet, the paper's "
        f"model; the mean |ρ| of the three models is {mean:.2f}.",
    )
    return Finding(text, word, f"ChebNet: {why}", ("model", "ρ", "95 % interval", "word"), table)
