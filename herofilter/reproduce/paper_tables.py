"""Tables 1 and 2 of the paper, as printed, from the file beside this one."""

import csv
from functools import lru_cache
from importlib.resources import files

TABLES = {
    "homophilic": ("cora", "citeseer", "pubmed", "ogbn-arxiv"),
    "heterophilic": (
        "snap-patents",
        "arxiv-year",
        "texas",
        "squirrel",
        "chameleon",
        "cornell",
        "wisconsin",
        "actor",
    ),
}
RAN_OUT = "OOM"


def paper_cell(model: str, graph: str) -> tuple[float, float] | None:
    """Return the paper's mean and standard deviation of test accuracy, in percent.

    None where the paper has no such row or column, or ran out of memory.

    Example:
        >>> paper_cell("gcn", "texas"), paper_cell("gat", "snap-patents")
        ((58.7, 2.8), None)
    """
    text = _rows().get(model, {}).get(graph, RAN_OUT)
    if text == RAN_OUT:
        return None
    mean, std = text.split(" ± ")
    return float(mean), float(std)


def paper_ran_out(model: str, graph: str) -> bool:
    """Whether the paper prints "OOM", out of memory, for a model on a graph."""
    return _rows().get(model, {}).get(graph) == RAN_OUT


def paper_models() -> list[str]:
    """Return the models of the paper's tables, in its order."""
    return list(_rows())


@lru_cache(maxsize=1)
def _rows() -> dict[str, dict[str, str]]:
    text = files("herofilter.reproduce").joinpath("paper_tables.csv").read_text("utf-8")
    return {row["model"]: row for row in csv.DictReader(text.splitlines())}
