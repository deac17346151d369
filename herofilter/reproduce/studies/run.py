"""Runs studies: finished tasks are kept and never done twice, then each study is written."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from herofilter.callbacks import Callback, Event
from herofilter.config import Config, from_earlier
from herofilter.errors import HeroFilterError, RunError
from herofilter.parallel.threads import one_thread
from herofilter.report.canvas import check_extra
from herofilter.report.study_page import write_index, write_study
from herofilter.reproduce.checks import check_names, check_workers
from herofilter.reproduce.jobs import fetch, run_pending
from herofilter.reproduce.result_file import Key
from herofilter.reproduce.studies.graphs import dataset_of
from herofilter.reproduce.studies.registry import STUDIES
from herofilter.reproduce.studies.study import Finished, Record, Study, Task, settings_hash
from herofilter.training.artifacts.environment import package_versions
from herofilter.training.artifacts.result_store import LineStore

OUT = Path("results/reproduce")
QUICK_OUT = Path("runs/reproduce-quick")
RECORDS = "records.jsonl"


class StudyFile(LineStore[Key]):
    """Finished tasks of all studies of a folder, one line of JSON each.

    The key of a line is computed from its settings: one that was written before a setting existed
    counts as made with its default, and one made with another default counts as absent.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _key)

    def keep(self, task: Task, record: Mapping[str, Any]) -> None:
        """Append one finished task: its key, settings, record and package versions."""
        head = {**vars(task.key), "settings": task.config.to_dict()}
        self.add(task.key, {**head, "record": dict(record), "versions": package_versions()})


@dataclass(frozen=True)
class Outcome:
    """What a task gave, or the sentence that says why it gave nothing."""

    job: Task
    record: Record = field(default_factory=dict)
    failure: str = ""


def run_task(task: Task) -> Outcome:
    """Do one task on one thread, so that its record is the same in every process."""
    with one_thread():
        return _attempt(task)


def run_alone(task: Task) -> Outcome:
    """Do one task that measures time, with as many threads as it asks for."""
    return _attempt(task)


def run_studies(
    names: Sequence[str],
    out: str | Path = OUT,
    quick: bool = False,
    workers: int = 1,
    callback: Callback | None = None,
) -> dict[str, Any]:
    """Run studies one after the other and write what each found.

    ``out/records.jsonl`` has a line per finished task, and the same call continues there. Each
    study has a folder with ``data.json``, ``data.csv``, ``figure.html``, ``figure.png`` and
    ``finding.md``; ``index.html`` links all that are there.

    Args:
        names: keys of ``STUDIES``.
        out: the folder.
        quick: a few tasks on tiny graphs, to see that everything works.
        workers: processes; those that measure time run one by one all the same.
        callback: takes an event of stage ``job`` after every task, named after it.

    Returns:
        per study what its ``data.json`` holds.
    """
    check_names("studies", names, STUDIES, "a study")
    check_workers(workers)
    # each study ends in a picture
    check_extra()
    folder = Path(out)
    file = StudyFile(folder / RECORDS)
    plans = {name: _unique(STUDIES[name].tasks(quick)) for name in names}
    total, before = sum(map(len, plans.values())), 0
    results, errors = {}, []
    for name, tasks in plans.items():
        study = STUDIES[name]
        try:
            _complete(study, tasks, file, workers, _shifted(callback, name, before, total))
            results[name] = _write(study, tasks, file, folder, quick)
        except RunError as error:
            errors.append(f"{name}: {error}")
        before += len(tasks)
    write_index(folder, tuple(STUDIES))
    if errors:
        raise RunError(errors[0])
    return results


def _attempt(task: Task) -> Outcome:
    try:
        return Outcome(task, task.work(task))
    except HeroFilterError as error:
        return Outcome(task, failure=str(error))


def _complete(
    study: Study, tasks: Sequence[Task], file: StudyFile, workers: int, callback: Callback | None
) -> None:
    pending = [task for task in tasks if task.key not in file]
    fetch(name for task in pending if (name := dataset_of(task.graph)) is not None)
    run_pending(
        run_alone if study.alone else run_task,
        pending,
        len(tasks),
        1 if study.alone else min(workers, max(len(pending), 1)),
        lambda outcome: file.keep(outcome.job, outcome.record),
        callback,
        what="tasks ",
    )


def _write(
    study: Study, tasks: Sequence[Task], file: StudyFile, folder: Path, quick: bool
) -> dict[str, Any]:
    finished = [Finished(task, file.records[task.key]["record"]) for task in tasks]
    parts = ["herofilter", "reproduce", study.name, *["--quick"] * quick]
    if folder != (QUICK_OUT if quick else OUT):
        parts += ["--out", str(folder)]
    return write_study(folder, study, study.summarise(finished), shlex.join(parts), quick)


def _unique(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks in their order, without those that only differ by their variant's name."""
    return list({(task.key, task.variant): task for task in tasks}.values())


def _shifted(callback: Callback | None, name: str, before: int, total: int) -> Callback | None:
    """Return a callback for one study that passes its events on as those of all studies."""
    if callback is None:
        return None

    def pass_on(event: Event) -> None:
        callback(
            replace(event, done=before + event.done, total=total, name=f"{name}: {event.name}")
        )

    return pass_on


def _key(record: Mapping[str, Any]) -> Key:
    values = {name: record[name] for name in Key.__dataclass_fields__}
    config = Config.from_dict(from_earlier(record["settings"]))
    return Key(**{**values, "config": settings_hash(record["model"], config)})
