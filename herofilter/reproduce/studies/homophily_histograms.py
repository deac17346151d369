"""How the homophily of single nodes is spread in every graph that is on disk."""

from collections.abc import Sequence

import numpy as np

from herofilter.config import Config
from herofilter.data import list_datasets
from herofilter.measures import node_heterophily_vector
from herofilter.report.figure import Bars, Figure, Panel
from herofilter.reproduce.studies.dataset_statistics import STRUCTURE, paper_statistics
from herofilter.reproduce.studies.graphs import blocks, is_there, kept_graph
from herofilter.reproduce.studies.study import Finished, Record, Study, Summary, Task
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding

BINS = 10
_BUILT_IN = ("karate", "csbm")


def spread_of_homophily(task: Task) -> Record:
    """Return the histogram of the share of a node's neighbours that have its label."""
    data = kept_graph(task.graph)
    degree = np.bincount(data.edge_index.flatten().numpy(), minlength=int(data.num_nodes or 0))
    labelled = (data.y.numpy() >= 0) & (degree > 0)
    homophily = 1 - node_heterophily_vector(data).double().numpy()[labelled]
    counts, bounds = np.histogram(homophily, bins=BINS, range=(0, 1))
    share = counts / max(homophily.size, 1)
    return {
        "bounds": bounds.tolist(),
        "share": share.tolist(),
        "mean": float(homophily.mean()) if homophily.size else 0.0,
        "minority": float(_minority(homophily)),
    }


def _minority(homophily: np.ndarray) -> float:
    """Return the share of nodes on the other side of one half than the mean."""
    if not homophily.size:
        return 0.0
    above = homophily > 0.5
    return float(np.mean(above != (homophily.mean() > 0.5)))


class HomophilyHistograms(Study):
    """Which graphs are homophilic, and how much do their nodes differ in that?"""

    name = "homophily-histograms"
    title = "Homophily of single nodes"
    reproduces = "the figure of node homophily distributions (appendix) and the grouping of graphs"
    claim = (
        "Cora, CiteSeer, PubMed and OGBN-Arxiv have a mean node heterophily of at most 0.5, the "
        "other eight graphs a larger one."
    )

    def tasks(self, quick: bool) -> list[Task]:
        # directions don't count here
        names = [
            info.name
            for info in list_datasets()
            if info.name not in _BUILT_IN and not info.name.endswith("-directed")
        ]
        graphs = ["karate", blocks(0.9, 120)] if quick else [*filter(is_there, names)]
        return [
            Task(graph, "none", Config(), 0, spread_of_homophily, "histogram", graph)
            for graph in graphs
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        same_graph = {found: graph for graph, found in STRUCTURE.items()}
        rows, panels, grouped = [], [], []
        for task, record in finished:
            name = same_graph.get(task.variant, task.variant)
            printed = paper_statistics().get(name, {}).get("heterophily")
            low = 1 - record["mean"] <= 0.5
            agrees = None if printed is None else low == (printed <= 0.5)
            rows.append(
                {
                    "graph": task.variant,
                    "mean_homophily": record["mean"],
                    "minority_share": record["minority"],
                    "paper_heterophily": printed,
                    "same_group": agrees,
                    "share": record["share"],
                }
            )
            if agrees is not None:
                grouped.append(agrees)
            middle = [f"{(a + 1 / BINS / 2):.2f}" for a in record["bounds"][:-1]]
            marks = (Bars("", middle, record["share"]),)
            panels.append(Panel(task.variant, "node homophily", "share of nodes", marks))
        figure = Figure("Homophily of single nodes", tuple(panels), columns=4)
        return Summary(rows, figure, _finding(rows))


def _finding(rows: Sequence[Record]) -> Finding:
    known = [row for row in rows if row["same_group"] is not None]
    same = sum(row["same_group"] for row in known)
    word = CONFIRMED if known and same == len(known) else WEAKER if same else NOT_CONFIRMED
    mixed = [row for row in rows if row["minority_share"] > 0.1]
    text = (
        "The share of a node's neighbours that have its label, over all labelled nodes with "
        "neighbours. The mean says which group a graph belongs to; the minority is the share of "
        "nodes on the other side of one half than the mean.",
        f"In {len(mixed)} of {len(rows)} graphs more than a tenth of the nodes are in the "
        "minority, so one number doesn't describe the graph.",
    )
    table = tuple(
        (
            row["graph"],
            "–" if row["paper_heterophily"] is None else f"{row['paper_heterophily']:.2f}",
            f"{1 - row['mean_homophily']:.2f}",
            f"{100 * row['minority_share']:.0f} %",
        )
        for row in rows
    )
    why = f"{same} of {len(known)} graphs that the paper groups fall into the same group here."
    titles = ("graph", "heterophily, paper", "ours (Definition 1)", "minority")
    return Finding(text, word, why, titles, table)
