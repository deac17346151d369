"""The rank of each model on each graph of a table, and over all of them."""

import statistics
from typing import Any

from herofilter.reproduce.table_cells import ROWS


def add_ranks(summary: dict[str, Any]) -> None:
    """Give every finished cell its ``rank`` on its graph, the paper's too, and rows a mean rank.

    Equal accuracies share the better rank. A row that isn't ranked, or isn't finished, has none.
    """
    ranks: dict[str, list[int]] = {}
    for entry in summary["graphs"].values():
        ranked = {
            row: cell
            for row, cell in entry["rows"].items()
            if ROWS[row].ranked and not cell["reason"]
        }
        ours = [cell["test_accuracy"]["mean"] for cell in ranked.values()]
        papers = [cell["paper"][0] for cell in entry["rows"].values() if cell["paper"]]
        for row, cell in entry["rows"].items():
            cell["rank"] = cell["paper_rank"] = None
            if row in ranked:
                mean = cell["test_accuracy"]["mean"]
                cell["rank"] = 1 + sum(value > mean for value in ours)
                ranks.setdefault(row, []).append(cell["rank"])
            if cell["paper"]:
                cell["paper_rank"] = 1 + sum(value > cell["paper"][0] for value in papers)
    columns = max((len(row) for row in ranks.values()), default=0)
    # a mean over fewer graphs than the others' would say nothing
    summary["mean_rank"] = {
        row: statistics.fmean(ranks[row]) if len(ranks.get(row, ())) == columns > 0 else None
        for row in summary["rows"]
    }
