"""The paper's Tables 1 and 2 reproduced: every model on every graph, under one protocol.

Every model has the same settings where they aren't its own, the same number of trials on the same
splits, and is judged by validation accuracy alone until its settings are chosen. Then it is trained
with them on all splits, and only there are test labels read.
"""

import math
import shlex
import statistics
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from herofilter.callbacks import Callback, notify
from herofilter.data import is_directed, load_dataset, on_disk
from herofilter.data.datasets.registry import REGISTRY
from herofilter.errors import check_choice
from herofilter.parallel.processes import run_jobs
from herofilter.reproduce.accuracy import mean_interval
from herofilter.reproduce.checks import check_names, check_splits, check_workers
from herofilter.reproduce.jobs import Outcome, TrainingJob, run_job
from herofilter.reproduce.paper_tables import TABLES, paper_cell, paper_ran_out
from herofilter.reproduce.ranks import add_ranks
from herofilter.reproduce.result_file import Key, ResultFile, config_hash
from herofilter.reproduce.table_cells import ROWS, TableCell
from herofilter.reproduce.trials import PROTOCOL, Settings, check_trials
from herofilter.training.protocol import spread

TRIALS = 6
# nodes up to which a search has so many splits: on tiny validation sets two say little
SEARCH_SPLITS = ((1000, 5), (5000, 2), (math.inf, 1))
OUT = Path("runs/tables")
# from the small graphs up, so that a run that is cut short leaves complete columns
BY_SIZE = (
    "texas",
    "cornell",
    "wisconsin",
    "cora",
    "citeseer",
    "chameleon",
    "actor",
    "squirrel",
    "pubmed",
    "ogbn-arxiv",
    "arxiv-year",
    "snap-patents",
)


def run_table(
    table: str,
    graphs: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    splits: Sequence[int] | None = None,
    trials: int = TRIALS,
    out: str | Path = OUT,
    workers: int = 1,
    callback: Callback | None = None,
    finished: bool = False,
) -> dict[str, Any]:
    """Fill a table's cells and return the summary.

    Every training is a line of ``out/trainings.jsonl`` once it is finished, and the same call
    continues where another was cut off. Each uses one thread, so the accuracies don't depend on
    the number of workers.

    Args:
        table: ``homophilic`` (the paper's Table 1) or ``heterophilic`` (Table 2).
        graphs: some of the table's graphs, or other datasets; all of the table's by default.
        rows: keys of ``ROWS``; all by default.
        splits: numbers of splits; all that a graph has by default.
        trials: settings that are tried for each model on each graph.
        out: the folder.
        workers: processes.
        callback: takes an event of stage ``job`` after every training, named after it.
        finished: train nothing, and sum up what is finished.

    Returns:
        ``command``, ``table``, ``trials``, ``protocol``, ``rows``, and per graph its ``variant``,
        ``splits``, ``search_splits``, why it can't run (``why``), and per row what
        :func:`summarise` gives.
    """
    names, chosen_rows, command = _check(table, graphs, rows, splits, trials, workers)
    if Path(out) != OUT:
        command += f" --out {shlex.quote(str(out))}"
    file = ResultFile(Path(out) / "trainings.jsonl")
    why = {graph: _absent(graph) for graph in names}
    search = {graph: [] if why[graph] else search_splits(graph) for graph in names}
    cells = {
        (graph, row): TableCell(
            ROWS[row], graph, trials, search[graph], _splits_of(graph, splits), file
        )
        for graph in sorted(names, key=_position)
        for row in chosen_rows
        if not why[graph] and not _senseless(graph, row)
    }
    if not finished:
        complete(list(cells.values()), workers, callback)
    summary: dict[str, Any] = {
        "command": command,
        "table": table,
        "trials": trials,
        "protocol": PROTOCOL,
        "rows": list(chosen_rows),
        "graphs": {
            graph: {
                "variant": REGISTRY[graph].variant,
                "splits": _splits_of(graph, splits),
                "search_splits": search[graph],
                "why": why[graph],
                "rows": {
                    row: summarise(cells[graph, row])
                    if (graph, row) in cells
                    else {**_paper(row, graph), "reason": why[graph] or _senseless(graph, row)}
                    for row in chosen_rows
                },
            }
            for graph in names
        },
    }
    add_ranks(summary)
    return summary


def search_splits(graph: str) -> list[int]:
    """Return the splits on which settings are tried: the fewer, the larger the graph.

    Example:
        >>> search_splits("karate")
        [0, 1, 2, 3, 4]
    """
    n = int(load_dataset(graph, split=None).num_nodes or 0)
    count = next(count for limit, count in SEARCH_SPLITS if n <= limit)
    return list(range(min(count, REGISTRY[graph].num_splits)))


def complete(cells: Sequence[TableCell], workers: int, callback: Callback | None = None) -> None:
    """Do all trainings of the cells that aren't in their file yet, trial after trial."""
    cell_of: dict[TrainingJob, tuple[TableCell, Key, Settings]] = {}
    open_jobs: Counter[int] = Counter()
    counts = [cell.count() for cell in cells]
    done, total = (sum(part) for part in zip(*counts, strict=True)) if counts else (0, 0)

    def due(cell: TableCell) -> list[TrainingJob]:
        jobs = []
        for job, key, settings in cell.due():
            cell_of[job] = (cell, key, settings)
            jobs.append(job)
        open_jobs[id(cell)] = len(jobs)
        return jobs

    def follow(outcome: Outcome) -> list[TrainingJob]:
        cell, key, settings = cell_of.pop(outcome.job)
        cell.file.keep(key, settings, outcome_row(outcome))
        open_jobs[id(cell)] -= 1
        # what didn't fit won't fit at the next trial either
        if open_jobs[id(cell)] or outcome.lacks_memory:
            return []
        return due(cell)

    first = [job for cell in cells for job in due(cell)]
    notify(callback, "job", done, total, "starting")
    with closing(run_jobs(run_job, first, workers, follow)) as outcomes:
        for outcome in outcomes:
            done += 1
            notify(callback, "job", done, total, str(outcome.job))


def outcome_row(outcome: Outcome) -> dict[str, Any]:
    """Return what a line of the file says of a training's outcome."""
    if outcome.failure:
        return {"failure": outcome.failure, "lacks_memory": outcome.lacks_memory}
    return {key: value for key, value in outcome.metrics.items() if key != "interrupted"}


def summarise(cell: TableCell) -> dict[str, Any]:
    """Return a cell's result, or the ``reason`` why it has none.

    ``test_accuracy`` and ``val_accuracy`` have ``mean``, ``std`` and ``values``; ``interval`` is
    the 95 % t-interval of the mean; ``search`` has the trials, each with settings and validation
    accuracy; ``difference`` is ours minus the paper's, in points.
    """
    paper = _paper(cell.row.name, cell.graph)
    choice, finals = cell.chosen(), cell.finals()
    done = {split: row for split, row in finals.items() if "test_accuracy" in row}
    if choice is None or not done:
        return {**paper, "reason": cell.failure() or "not reached yet"}
    settings, validation = choice
    accuracy = spread([row["test_accuracy"] for row in done.values()])
    mean = paper["paper"] and paper["paper"][0]
    return {
        **paper,
        "reason": ""
        if len(done) == len(cell.splits)
        else f"{len(done)} of {len(cell.splits)} splits",
        "test_accuracy": accuracy,
        "interval": mean_interval(accuracy["values"]),
        "val_accuracy": spread([row["val_accuracy"] for row in done.values()]),
        "difference": None if mean is None else 100 * accuracy["mean"] - mean,
        "seconds": statistics.fmean(row["seconds"] for row in done.values()),
        "done": list(done),
        "config_hash": config_hash(cell.row.model, settings),
        "settings": _changed(settings, {**PROTOCOL, **cell.row.base}),
        "search": {
            "val_accuracy": validation,
            "trials": [
                {"settings": _changed(tried, {**PROTOCOL, **cell.row.base}), "val_accuracy": score}
                for tried, score in cell.searched()
            ],
        },
    }


def _changed(settings: Settings, base: Settings) -> Settings:
    return {key: value for key, value in settings.items() if base.get(key) != value}


def _paper(row: str, graph: str) -> dict[str, Any]:
    return {"paper": paper_cell(row, graph), "paper_ran_out": paper_ran_out(row, graph)}


def _absent(graph: str) -> str:
    if on_disk(graph):
        return ""
    return f"no data here; `herofilter info {graph}` fetches it"


def _senseless(graph: str, row: str) -> str:
    keeps = ROWS[row].base.get("directed") == "keep"
    if keeps and not is_directed(load_dataset(graph, split=None)):
        return "the graph has no directions"
    return ""


def _splits_of(graph: str, splits: Sequence[int] | None) -> list[int]:
    count = REGISTRY[graph].num_splits
    return [split for split in range(count) if splits is None or split in splits]


def _position(graph: str) -> int:
    return BY_SIZE.index(graph) if graph in BY_SIZE else -1


def _check(
    table: str,
    graphs: Sequence[str] | None,
    rows: Sequence[str] | None,
    splits: Sequence[int] | None,
    trials: int,
    workers: int,
) -> tuple[list[str], list[str], str]:
    check_choice("a table", table, TABLES)
    check_trials(trials)
    check_workers(workers)
    command = ["herofilter", "bench", table]
    chosen: list[list[str]] = []
    for name, given, known, usual in (
        ("graphs", graphs, REGISTRY, TABLES[table]),
        ("models", rows, ROWS, tuple(ROWS)),
    ):
        entries = list(usual if given is None else given)
        check_names(name, entries, known, f"one of the {name}")
        if tuple(entries) != tuple(usual):
            command += [f"--{name}", ",".join(entries)]
        chosen.append(entries)
    available = max(REGISTRY[graph].num_splits for graph in chosen[0])
    if splits is not None:
        check_splits(splits, available)
        command += ["--splits", ",".join(map(str, sorted(set(splits))))]
    if trials != TRIALS:
        command += ["--trials", str(trials)]
    return chosen[0], chosen[1], shlex.join(command)
