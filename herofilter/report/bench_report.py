"""A benchmark as one page: every model on every graph, as a matrix, as bars and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from herofilter.measures.fit_warning import listed
from herofilter.report.figure import Bars, Figure, HeatMap, Panel
from herofilter.report.interval import count
from herofilter.report.page_parts import Chart, Code, Page, Part, Section, Table, Words
from herofilter.report.plotly_figure import COLOURS


@dataclass(frozen=True)
class Measured:
    """The mean of a measure over splits, with its standard deviation, both as shares of one."""

    mean: float
    std: float


Cells = Mapping[str, Mapping[str, Measured | None]]


def bench_page(
    title: str, about: str, command: str, models: Mapping[str, str], cells: Cells
) -> Page:
    """Return the page of a benchmark.

    Args:
        title: of the page.
        about: what was measured, in a sentence.
        command: that repeats it.
        models: what each model or variant is called.
        cells: by graph and model; None where nothing was measured.
    """
    shown = {
        key: name for key, name in models.items() if any(row.get(key) for row in cells.values())
    }
    known = {graph: row for graph, row in cells.items() if any(row.values())}
    waiting = [graph for graph in cells if graph not in known]
    words = [about, *[f"Not measured yet: {', '.join(waiting)}."] * bool(waiting)]
    parts: list[Part] = [Words(tuple(words)), *(_charts(shown, known) if known else ())]
    numbers = [Section("numbers", "The numbers", (_table(shown, known),))] if known else []
    making = Section("making", "How was it made?", (Code(command, "The command to repeat it"),))
    sections = (Section("result", "What came out?", tuple(parts)), *numbers, making)
    sizes = f"{count(len(shown), 'model')} on {count(len(known), 'graph')}"
    return Page(title, sizes, sections)


def measured(entry: Mapping[str, Any] | None, key: str) -> Measured | None:
    """Return a cell from an entry of a result, whose ``key`` has mean and standard deviation."""
    values = None if entry is None else entry.get(key)
    return None if values is None else Measured(float(values["mean"]), float(values["std"]))


def _charts(models: Mapping[str, str], cells: Cells) -> Sequence[Chart]:
    names, graphs = list(models.values()), list(cells)
    means = [[_percent(row.get(key)) for key in models] for row in cells.values()]
    grid = HeatMap(names, graphs, means, "%", written=".1f")
    best = [max((value or 0.0) for value in row) for row in means]
    wins = {
        name: sum(row[number] == top for row, top in zip(means, best, strict=True))
        for number, name in enumerate(names)
    }
    most = max(wins.values())
    first = [name for name, won in wins.items() if won == most]
    verb, each = ("has", "") if len(first) == 1 else ("have", ", each,")
    where = f"{most} of {count(len(graphs), 'graph')}"
    finding = f"{listed(first)} {verb}{each} the highest mean on {where}."
    bars = tuple(
        Bars(
            name,
            graphs,
            [_percent(row.get(key)) for row in cells.values()],
            [_spread(row.get(key)) for row in cells.values()],
        )
        for key, name in models.items()
    )
    height = max(330, 110 + 34 * len(graphs))
    matrix = Panel("", "", "", (grid,))
    side = Panel("", "graph", "test (%)", bars)
    title = "Every model on every graph"
    charts = [Chart("matrix", title, finding, Figure("", (matrix,)), True, height)]
    # more couldn't be told apart by their colours
    if len(names) <= len(COLOURS):
        said = "The lines on the bars are standard deviations over splits."
        charts.append(Chart("bars", "The same as bars", said, Figure("", (side,)), True, 400))
    return charts


def _table(models: Mapping[str, str], cells: Cells) -> Table:
    rows = tuple((graph, *(_text(row.get(key)) for key in models)) for graph, row in cells.items())
    caption = "Test in percent, mean ± standard deviation"
    return Table(("graph", *models.values()), rows, caption)


def _percent(cell: Measured | None) -> float | None:
    return None if cell is None else 100 * cell.mean


def _spread(cell: Measured | None) -> float | None:
    return None if cell is None else 100 * cell.std


def _text(cell: Measured | None) -> str:
    return "–" if cell is None else f"{100 * cell.mean:.1f} ± {100 * cell.std:.1f}"


def accuracy_bench_page(result: Mapping[str, Any]) -> Page:
    """Return the page of ``herofilter bench herofilter``."""
    about = "Test accuracy over seeds and splits, with the paper's HeroFilter beside."
    cells = {
        graph: {
            "paper": None if row["paper"] is None else measured(row, "paper"),
            **{key: measured(entry, "test_accuracy") for key, entry in row["columns"].items()},
        }
        for graph, row in result["graphs"].items()
    }
    models = {"paper": "the paper", **result["columns"]}
    return bench_page("HeroFilter on benchmark graphs", about, result["command"], models, cells)


def filters_bench_page(result: Mapping[str, Any]) -> Page:
    """Return the page of ``herofilter bench filters``."""
    about = "Test accuracy over splits; each variant changes the one thing that its name says."
    models = {key: str(entry["title"]) for key, entry in result["variants"].items()}
    cells = {
        graph: {key: measured(entry, "test_accuracy") for key, entry in row["variants"].items()}
        for graph, row in result["graphs"].items()
    }
    return bench_page("Learned filters against fixed ones", about, result["command"], models, cells)


def table_bench_page(result: Mapping[str, Any], title: str) -> Page:
    """Return the page of one of the paper's tables."""
    about = "All models under one protocol, with the same search for each; mean over splits."
    cells = {
        graph: {key: measured(entry, "test") for key, entry in row["rows"].items()}
        for graph, row in result["graphs"].items()
        if not row["why"]
    }
    return bench_page(title, about, result["command"], result["titles"], cells)
