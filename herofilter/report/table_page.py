"""The reproduced tables of the paper: as Markdown, as CSV, and in the terminal."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from herofilter.report.console import percent

DASH = "–"
OUT_OF_MEMORY = "OOM"
# more than this below the paper's number is marked
TOLERATED = 2.0
BELOW = "▼"
TITLES = {
    "homophilic": "Homophilic graphs (the paper's Table 1)",
    "heterophilic": "Heterophilic graphs (the paper's Table 2)",
}

CSV_COLUMNS = (
    "model",
    "graph",
    "splits",
    "test_mean",
    "test_std",
    "val_mean",
    "rank",
    "paper_mean",
    "paper_std",
    "paper_rank",
    "difference",
    "seconds",
    "config_hash",
    "reason",
)

Entry = dict[str, Any]


def table_page(result: Entry) -> str:
    """Return the page for the result of :func:`~herofilter.reproduce.tables.run_table`."""
    blocks = [
        f"# {TITLES[result['table']]}",
        f"This page is written by `{result['command']}`, together with a JSON and a CSV file of "
        "the same name. Don't edit it by hand: run the command again; it continues where it "
        "stopped.",
        "Test accuracy in percent, mean ± standard deviation over splits; in brackets the rank on "
        f"that graph; then the paper's number. {BELOW} marks a mean more than {TOLERATED:g} points "
        f"below the paper's. A dash: not reached yet, or the reason is listed below.",
        _accuracy(result),
        _mean_ranks(result),
        _reasons(result),
        "## Where ours and the paper's differ",
        _differences(result),
        "## Protocol",
        _protocol(result),
        "## Chosen settings",
        "What validation chose for each model, where it differs from the protocol.",
        _settings(result),
        "## Seconds per training",
        "Mean over splits, one thread each, while other trainings ran on the other cores: for "
        "comparing rows, not for judging a machine.",
        _markdown(
            ["model", *_graphs(result)],
            [
                [row, *(_seconds(cell) for cell in _cells(result, row).values())]
                for row in result["rows"]
            ],
        ),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def table_csv(result: Entry) -> str:
    """Return one line per cell: ours, the paper's, ranks, seconds, settings."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in result["rows"]:
        for graph, cell in _cells(result, row).items():
            test, val = cell.get("test_accuracy"), cell.get("val_accuracy")
            paper = cell["paper"] or (OUT_OF_MEMORY if cell["paper_ran_out"] else "", "")
            writer.writerow(
                [
                    row,
                    graph,
                    len(cell.get("done", ())),
                    *(_number(test and 100 * test[key]) for key in ("mean", "std")),
                    _number(val and 100 * val["mean"]),
                    _number(cell["rank"]),
                    *paper,
                    _number(cell["paper_rank"]),
                    _number(cell.get("difference")),
                    _number(cell.get("seconds")),
                    cell.get("config_hash", ""),
                    cell["reason"],
                ]
            )
    return text.getvalue()


def console_table(result: Entry) -> Table:
    """Return the table for the terminal: ours, rank, and the paper's below."""
    table = Table(title=f"{TITLES[result['table']]}: test accuracy (%), rank; the paper's below")
    table.add_column("model", no_wrap=True)
    graphs = [graph for graph, entry in result["graphs"].items() if not entry["why"]]
    for graph in graphs:
        table.add_column(graph, justify="right", no_wrap=True)
    for row in result["rows"]:
        cells = _cells(result, row)
        table.add_row(row, *(f"{ours(cells[g])}\n[dim]{paper(cells[g])}[/]" for g in graphs))
    return table


def ours(cell: Entry) -> str:
    """Return our number with its rank, marked when it is far below the paper's.

    Example:
        >>> ours({"test_accuracy": {"mean": 0.6, "std": 0.01}, "rank": 3, "difference": -2.5})
        '60.0 ± 1.0 (3) ▼'
    """
    if "test_accuracy" not in cell:
        return DASH
    rank = "" if cell["rank"] is None else f" ({cell['rank']})"
    return f"{percent(cell['test_accuracy'])}{rank}{f' {BELOW}' if _is_below(cell) else ''}"


def paper(cell: Entry) -> str:
    """Return the paper's number, "OOM" where it ran out of memory, a dash for none."""
    if cell["paper"] is None:
        return OUT_OF_MEMORY if cell["paper_ran_out"] else DASH
    mean, std = cell["paper"]
    return f"{mean:.1f} ± {std:.1f}"


def _graphs(result: Entry) -> list[str]:
    return list(result["graphs"])


def _cells(result: Entry, row: str) -> dict[str, Entry]:
    return {graph: entry["rows"][row] for graph, entry in result["graphs"].items()}


def _accuracy(result: Entry) -> str:
    rows = [
        [
            row,
            *(f"{ours(cell)}<br>{paper(cell)}" for cell in _cells(result, row).values()),
            _number(result["mean_rank"][row]) or DASH,
        ]
        for row in result["rows"]
    ]
    return _markdown(["model", *_graphs(result), "mean rank"], rows)


def _mean_ranks(result: Entry) -> str:
    ranked = {row: mean for row, mean in result["mean_rank"].items() if mean is not None}
    if len(ranked) < 2:
        return ""
    order = sorted(ranked, key=lambda row: ranked[row])
    best = ", ".join(f"{row} {ranked[row]:.1f}" for row in order[:5])
    graphs = result["graphs"].values()
    count = sum(any(cell["rank"] for cell in entry["rows"].values()) for entry in graphs)
    over = "one graph only, so read it as that" if count == 1 else f"{count} graphs"
    return f"By mean rank: {best} … (over {over}; {len(ranked)} of {len(result['rows'])} rows)"


def _reasons(result: Entry) -> str:
    lines = []
    for graph, entry in result["graphs"].items():
        if entry["why"]:
            lines.append(f"- **{graph}**, all models: {entry['why']}.")
            continue
        by_reason: dict[str, list[str]] = {}
        for row, cell in entry["rows"].items():
            if cell["reason"]:
                by_reason.setdefault(cell["reason"], []).append(row)
        lines += [
            f"- **{graph}**, {', '.join(rows)}: {reason}." for reason, rows in by_reason.items()
        ]
    return "\n".join(["Cells without a complete result:", "", *lines]) if lines else ""


def _is_below(cell: Entry) -> bool:
    difference = cell.get("difference")
    return difference is not None and difference < -TOLERATED


def _differences(result: Entry) -> str:
    found = [
        (graph, row, cell)
        for row in result["rows"]
        for graph, cell in _cells(result, row).items()
        if not cell["reason"] and cell.get("difference") is not None
    ]
    if not found:
        return "No cell is finished yet."
    below = [entry for entry in found if _is_below(entry[2])]
    above = [entry for entry in found if entry[2]["difference"] > TOLERATED]
    lines = [
        f"Of {len(found)} finished cells with a number in the paper, {len(above)} are more than "
        f"{TOLERATED:g} points above it, {len(below)} more than {TOLERATED:g} points below."
    ]
    for title, some in (("Below", below), ("Most above", sorted(above, key=_gain)[:10])):
        if some:
            lines += ["", f"{title}:", ""]
            lines += [
                f"- {row} on {graph}: {100 * cell['test_accuracy']['mean']:.1f} against "
                f"{cell['paper'][0]:.1f} ({cell['difference']:+.1f})"
                for graph, row, cell in some
            ]
    return "\n".join(lines)


def _gain(entry: tuple[str, str, Entry]) -> float:
    return -float(entry[2]["difference"])


def _protocol(result: Entry) -> str:
    protocol = " ".join(f"{key}={value}" for key, value in result["protocol"].items())
    search = ", ".join(
        f"{graph} {len(entry['search_splits'])}"
        for graph, entry in result["graphs"].items()
        if entry["search_splits"]
    )
    points = [
        f"Settings of every model where it isn't searched: `{protocol}` (Adam; `num_layers` counts "
        "HeroFilter's stem and its mixer blocks). Baselines see graphs without directions, as the "
        "paper's do; `herofilter-directed` keeps them and is therefore not ranked.",
        f"Search: {result['trials']} trials per model and graph, each trained on the first "
        f"splits ({search or 'none'}) and judged by mean validation accuracy; the hyperparameters "
        "of the first four are the same for all models, the others are suggested by Optuna's TPE "
        "sampler from one space (rate, decay, dropouts, scaling) and the options of the model. "
        "HeroFilter has no more trials than any other.",
        "The chosen settings are trained on all splits; only there are test labels read. Seed 0.",
        "Every finished training is a line of `trainings.jsonl` with settings, their hash, seed, "
        "versions and numbers.",
    ]
    return "\n".join(f"- {point}" for point in points)


def _settings(result: Entry) -> str:
    lines = []
    for row in result["rows"]:
        parts = []
        for graph, cell in _cells(result, row).items():
            if "settings" in cell:
                text = " ".join(f"{key}={value}" for key, value in sorted(cell["settings"].items()))
                parts.append(f"{graph} `{text or 'the protocol'}`")
        if parts:
            lines.append(f"- **{row}**: {'; '.join(parts)}")
    return "\n".join(lines) or "None yet."


def _seconds(cell: Entry) -> str:
    return f"{cell['seconds']:.1f}" if "seconds" in cell else DASH


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def _markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
