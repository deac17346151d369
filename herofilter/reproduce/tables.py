"""The paper's Tables 1 and 2 reproduced, and one of newer graphs: all models, one protocol.

Every model has the same settings where they aren't its own and the same number of trials. On graphs
of up to 3000 nodes every split chooses among them by its own validation nodes; on larger ones the
validation nodes of a few splits choose for all. Test scores choose nothing.
"""

import shlex
import statistics
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from herofilter.callbacks import Callback, notify
from herofilter.data import on_disk
from herofilter.data.datasets.registry import REGISTRY
from herofilter.errors import check_choice
from herofilter.parallel.processes import run_jobs
from herofilter.reproduce.accuracy import mean_interval
from herofilter.reproduce.checks import check_names, check_splits, check_workers
from herofilter.reproduce.jobs import Outcome, TrainingJob, run_job
from herofilter.reproduce.paper_tables import paper_cell, paper_ran_out
from herofilter.reproduce.ranks import add_ranks
from herofilter.reproduce.result_file import Key, ResultFile
from herofilter.reproduce.table_cells import Search, TableCell
from herofilter.reproduce.table_graphs import TABLES, GraphPlan, by_size, plan_graph, splits_of
from herofilter.reproduce.table_rows import ROWS
from herofilter.reproduce.trials import PROTOCOL, Settings, check_trials
from herofilter.training.split_metrics import spread

TRIALS = 6
OUT = Path("runs/tables")


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
        table: ``homophilic`` (the paper's Table 1), ``heterophilic`` (Table 2) or ``modern``
            (graphs that the paper doesn't have).
        graphs: some of the table's graphs, or other datasets; all of the table's by default.
        rows: keys of ``ROWS``; all by default.
        splits: numbers of splits; all that a graph has by default.
        trials: settings that are tried for each model on each graph; where every split chooses
            its own, on each split.
        out: the folder.
        workers: processes.
        callback: takes an event of stage ``job`` after every training, named after it.
        finished: train nothing, and sum up what is finished.

    Returns:
        ``command``, ``table``, ``trials``, ``protocol``, ``rows``, ``titles`` (what each row is),
        and per graph its ``variant``, ``metric``, ``splits``, ``nested`` (whether every split
        chose its own settings), ``search_splits``, why it can't run (``why``), and per row what
        :func:`summarise` gives.
    """
    names, chosen_rows, command = _check(table, graphs, rows, splits, trials, workers)
    if Path(out) != OUT:
        command += f" --out {shlex.quote(str(out))}"
    file = ResultFile(Path(out) / "trainings.jsonl")
    plans = {graph: plan_graph(graph, splits) for graph in by_size(names) if on_disk(graph)}
    cells = {
        (graph, row): TableCell(ROWS[row], plan, trials, file)
        for graph, plan in plans.items()
        for row in chosen_rows
        if plan.directed or not ROWS[row].needs_directions()
    }
    if not finished:
        complete([search for cell in cells.values() for search in cell.searches], workers, callback)
    summary: dict[str, Any] = {
        "command": command,
        "table": table,
        "trials": trials,
        "protocol": PROTOCOL,
        "rows": list(chosen_rows),
        "titles": {row: ROWS[row].title for row in chosen_rows},
        "graphs": {
            graph: {
                **_described(graph, plans.get(graph), splits),
                "rows": {
                    row: summarise(cells[graph, row])
                    if (graph, row) in cells
                    else {**_paper(row, graph), "reason": _why_not(graph, graph in plans)}
                    for row in chosen_rows
                },
            }
            for graph in names
        },
    }
    add_ranks(summary)
    return summary


def complete(searches: Sequence[Search], workers: int, callback: Callback | None = None) -> None:
    """Do all trainings of the searches that aren't in their file yet, trial after trial."""
    search_of: dict[TrainingJob, tuple[Search, Key, Settings]] = {}
    open_jobs: Counter[int] = Counter()
    counts = [search.count() for search in searches]
    done, total = (sum(part) for part in zip(*counts, strict=True)) if counts else (0, 0)

    def due(search: Search) -> list[TrainingJob]:
        jobs = []
        for job, key, settings in search.due():
            search_of[job] = (search, key, settings)
            jobs.append(job)
        open_jobs[id(search)] = len(jobs)
        return jobs

    def follow(outcome: Outcome) -> list[TrainingJob]:
        search, key, settings = search_of.pop(outcome.job)
        search.file.keep(key, settings, outcome_row(outcome))
        open_jobs[id(search)] -= 1
        # what didn't fit won't fit at the next trial either
        if open_jobs[id(search)] or outcome.lacks_memory:
            return []
        return due(search)

    first = [job for search in searches for job in due(search)]
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
    """Return a cell's result, or the ``reason`` why it has none or only a part.

    ``test`` and ``val`` have ``mean``, ``std`` and ``values`` of the graph's metric; ``interval``
    is the 95 % t-interval of the mean; ``choices`` has per search its splits, what it chose and
    what that had on validation; ``difference`` is ours minus the paper's, in points.
    """
    paper = _paper(cell.row.name, cell.graph.name)
    trials, metric = cell.usable_trials(), cell.graph.metric
    done = cell.result(trials)
    if not done:
        return {**paper, "reason": cell.failure() or "not reached yet"}
    test = spread([record[f"test_{metric}"] for record in done.values()])
    mean = paper["paper"] and paper["paper"][0]
    parts = (
        (len(done), len(cell.graph.splits), "splits"),
        (trials, cell.trials, "trials"),
    )
    return {
        **paper,
        "reason": ", ".join(
            f"{part} of {all_} {what}" for part, all_, what in parts if part < all_
        ),
        "test": test,
        "interval": mean_interval(test["values"]),
        "val": spread([record[f"val_{metric}"] for record in done.values()]),
        "difference": None if mean is None else 100 * test["mean"] - mean,
        "seconds": statistics.fmean(record["seconds"] for record in done.values()),
        "done": list(done),
        "choices": [_choice(search, trials) for search in cell.searches if search.result(trials)],
    }


def _choice(search: Search, trials: int) -> dict[str, Any]:
    choice = search.chosen(trials)
    if choice is None:
        return {}
    settings, score = choice
    base = search.row.plan(search.graph).base
    return {
        "splits": list(search.splits),
        "val": score,
        "settings": {key: value for key, value in settings.items() if base.get(key) != value},
        "config_hash": search.key(settings, search.splits[0], search.stages[1]).config,
    }


def _described(graph: str, plan: GraphPlan | None, splits: Sequence[int] | None) -> dict[str, Any]:
    return {
        "variant": REGISTRY[graph].variant,
        "metric": REGISTRY[graph].metric,
        "splits": list(splits_of(graph, splits)),
        "nested": None if plan is None else plan.nested,
        "search_splits": [] if plan is None else list(plan.search_splits),
        "why": _why_not(graph, False) if plan is None else "",
    }


def _why_not(graph: str, there: bool) -> str:
    if there:
        return "the graph has no directions"
    return f"no data here; `herofilter info {graph}` fetches it"


def _paper(row: str, graph: str) -> dict[str, Any]:
    return {"paper": paper_cell(row, graph), "paper_ran_out": paper_ran_out(row, graph)}


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
