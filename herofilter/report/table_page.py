"""The tables of all models: as Markdown, as CSV, and in the terminal."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from herofilter.report.console import percent
from herofilter.report.table_protocol import (
    MOST_CHOICES,
    chosen_settings,
    protocol_points,
    shown_graphs,
)

DASH = "–"
OUT_OF_MEMORY = "OOM"
# more than this below the paper's number is marked
TOLERATED = 2.0
BELOW = "▼"
PART = "†"
METRICS = {"accuracy": "accuracy", "auc": "ROC AUC"}
TITLES = {
    "homophilic": "Homophilic graphs (the paper's Table 1)",
    "heterophilic": "Heterophilic graphs (the paper's Table 2)",
    "modern": "Graphs of Platonov et al. (2023), which the paper doesn't have",
}

CSV_COLUMNS = (
    "model",
    "title",
    "graph",
    "metric",
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
        _legend(result),
        _accuracy(result),
        _mean_ranks(result),
        _reasons(result),
        *(
            ("## Where ours and the paper's differ", _differences(result))
            if has_paper(result)
            else ()
        ),
        "## Protocol",
        protocol_points(result),
        "## Chosen settings",
        "What validation chose for each model, where it differs from the row's first trial; in "
        f"brackets by how many splits, the {MOST_CHOICES} most frequent where each chose its own.",
        chosen_settings(result),
        "## Seconds per training",
        "Mean over splits, one thread each, while other trainings ran on the other cores: for "
        "comparing rows, not for judging a machine.",
        _markdown(
            ["model", *result["graphs"]],
            [
                [_title(result, row), *map(_seconds, _cells(result, row).values())]
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
            test, val = cell.get("test"), cell.get("val")
            paper = cell["paper"] or (OUT_OF_MEMORY if cell["paper_ran_out"] else "", "")
            writer.writerow(
                [
                    row,
                    _title(result, row),
                    graph,
                    result["graphs"][graph]["metric"],
                    len(cell.get("done", ())),
                    *(_number(test and 100 * test[key]) for key in ("mean", "std")),
                    _number(val and 100 * val["mean"]),
                    _number(cell["rank"]),
                    *paper,
                    _number(cell["paper_rank"]),
                    _number(cell.get("difference")),
                    _number(cell.get("seconds")),
                    cell["reason"],
                ]
            )
    return text.getvalue()


def console_table(result: Entry, graphs: Sequence[str] | None = None) -> Table:
    """Return the table for the terminal: ours, rank, and the paper's below if it has any."""
    below = "; the paper's below" if has_paper(result) else ""
    table = Table(title=f"{TITLES[result['table']]}: test (%), rank{below}")
    table.add_column("model", no_wrap=True)
    graphs = shown_graphs(result) if graphs is None else graphs
    for graph in graphs:
        table.add_column(_named(graph, result), justify="right", no_wrap=True)
    for row in result["rows"]:
        cells = _cells(result, row)
        table.add_row(_title(result, row), *(_in_terminal(result, cells[g]) for g in graphs))
    return table


def ours(cell: Entry) -> str:
    """Return our number with its rank or what it lacks, marked when far below the paper's.

    Example:
        >>> ours({"test": {"mean": 0.6, "std": 0.01}, "rank": 3, "difference": -2.5, "reason": ""})
        '60.0 ± 1.0 (3) ▼'
    """
    if "test" not in cell:
        return DASH
    rank = "" if cell["rank"] is None else f" ({cell['rank']})"
    below = f" {BELOW}" if _is_below(cell) else ""
    part = f" {PART}{cell['reason']}" if cell["reason"] else ""
    return f"{percent(cell['test'])}{rank}{below}{part}"


def paper(cell: Entry) -> str:
    """Return the paper's number, "OOM" where it ran out of memory, a dash for none."""
    if cell["paper"] is None:
        return OUT_OF_MEMORY if cell["paper_ran_out"] else DASH
    mean, std = cell["paper"]
    return f"{mean:.1f} ± {std:.1f}"


def has_paper(result: Entry) -> bool:
    """Whether the paper has numbers for any of the table's graphs."""
    rows = [cell for entry in result["graphs"].values() for cell in entry["rows"].values()]
    return any(cell["paper"] or cell["paper_ran_out"] for cell in rows)


def _legend(result: Entry) -> str:
    papers = (
        "; then the paper's number. "
        f"{BELOW} marks a mean more than {TOLERATED:g} points below the paper's"
    )
    return (
        "Test accuracy in percent (ROC AUC where the column says so), mean ± standard deviation "
        f"over splits; in brackets the rank on that graph{papers if has_paper(result) else ''}. "
        f"{PART} marks a result on fewer splits or trials than were asked for, which has no rank. "
        "A dash: not reached yet, or the reason is listed below."
    )


def _title(result: Entry, row: str) -> str:
    return str(result["titles"][row])


def _named(graph: str, result: Entry) -> str:
    metric = result["graphs"][graph]["metric"]
    return graph if metric == "accuracy" else f"{graph} ({METRICS[metric]})"


def _cells(result: Entry, row: str) -> dict[str, Entry]:
    return {graph: entry["rows"][row] for graph, entry in result["graphs"].items()}


def _both(result: Entry, cell: Entry) -> str:
    return f"{ours(cell)}<br>{paper(cell)}" if has_paper(result) else ours(cell)


def _in_terminal(result: Entry, cell: Entry) -> Text:
    # a Text has its style whether or not the console reads markup
    printed = [("\n" + paper(cell), "dim")] if has_paper(result) else []
    return Text.assemble(ours(cell), *printed)


def _accuracy(result: Entry) -> str:
    rows = [
        [
            _title(result, row),
            *(_both(result, cell) for cell in _cells(result, row).values()),
            _mean_rank(result["mean_rank"][row]),
        ]
        for row in result["rows"]
    ]
    graphs = [_named(graph, result) for graph in result["graphs"]]
    return _markdown(["model", *graphs, "mean rank"], rows)


def _mean_rank(entry: Entry | None) -> str:
    if entry is None:
        return DASH
    return f"{entry['mean']:.2f} ({entry['graphs']} graph{'s' if entry['graphs'] > 1 else ''})"


def _mean_ranks(result: Entry) -> str:
    """Return the best mean ranks of rows that were ranked on the same graphs, and on how many."""
    ranked = {row: entry for row, entry in result["mean_rank"].items() if entry is not None}
    if len(ranked) < 2:
        return ""
    most = max(entry["graphs"] for entry in ranked.values())
    full = sorted(
        (row for row, entry in ranked.items() if entry["graphs"] == most),
        key=lambda row: ranked[row]["mean"],
    )
    best = ", ".join(f"{_title(result, row)} {ranked[row]['mean']:.1f}" for row in full[:5])
    over = "one graph only, so read it as that" if most == 1 else f"{most} graphs"
    among = ", ".join(
        f"{graph} {entry['num_ranked']}"
        for graph, entry in result["graphs"].items()
        if entry["num_ranked"]
    )
    said = [
        f"By mean rank, of the {len(full)} rows that have a rank on {over}: {best} …",
        f"A rank is among the complete rows of a graph ({among}).",
    ]
    fewer = len(ranked) - len(full)
    if fewer:
        said.append(
            f"The mean of the other {fewer} ranked rows is over the fewer graphs that the table "
            "says, so it can't be compared with these."
        )
    return " ".join(said)


def _reasons(result: Entry) -> str:
    lines = []
    for graph, entry in result["graphs"].items():
        if entry["why"]:
            lines.append(f"- **{graph}**, all models: {entry['why']}.")
            continue
        by_reason: dict[str, list[str]] = {}
        for row, cell in entry["rows"].items():
            if "test" not in cell:
                by_reason.setdefault(cell["reason"], []).append(row)
        lines += [
            f"- **{graph}**, {', '.join(rows)}: {reason}." for reason, rows in by_reason.items()
        ]
    return "\n".join(["Cells without a result:", "", *lines]) if lines else ""


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
                f"- {_title(result, row)} on {graph}: {100 * cell['test']['mean']:.1f} against "
                f"{cell['paper'][0]:.1f} ({cell['difference']:+.1f})"
                for graph, row, cell in some
            ]
    return "\n".join(lines)


def _gain(entry: tuple[str, str, Entry]) -> float:
    return -float(entry[2]["difference"])


def _seconds(cell: Entry) -> str:
    return f"{cell['seconds']:.1f}" if "seconds" in cell else DASH


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def _markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
