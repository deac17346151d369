"""The rank of each model on each graph of a table, and over all of them."""

import statistics
from typing import Any

from herofilter.reproduce.table_rows import ROWS


def add_ranks(summary: dict[str, Any]) -> None:
    """Give every complete cell its ``rank`` on its graph, the paper's too, and rows a mean rank.

    Equal means share the better rank. A row that isn't ranked, or isn't complete, has none.
    A graph's ``num_ranked`` says among how many rows; ``mean_rank`` has per row the ``mean`` over
    the graphs where it has a rank, and how many ``graphs`` those are, or None.
    """
    ranks: dict[str, list[int]] = {}
    for entry in summary["graphs"].values():
        ranked = {
            row: cell
            for row, cell in entry["rows"].items()
            if ROWS[row].ranked and not cell["reason"]
        }
        ours = [cell["test"]["mean"] for cell in ranked.values()]
        papers = [cell["paper"][0] for cell in entry["rows"].values() if cell["paper"]]
        entry["num_ranked"] = len(ranked)
        for row, cell in entry["rows"].items():
            cell["rank"] = cell["paper_rank"] = None
            if row in ranked:
                mean = cell["test"]["mean"]
                cell["rank"] = 1 + sum(value > mean for value in ours)
                ranks.setdefault(row, []).append(cell["rank"])
            if cell["paper"]:
                cell["paper_rank"] = 1 + sum(value > cell["paper"][0] for value in papers)
    summary["mean_rank"] = {
        row: {"mean": statistics.fmean(ranks[row]), "graphs": len(ranks[row])}
        if row in ranks
        else None
        for row in summary["rows"]
    }
