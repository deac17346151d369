"""The trials of a search in a SQLite file: opened, continued, listed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from herofilter.errors import RunError
from herofilter.folders import entries
from herofilter.training.artifacts.result_store import differing

if TYPE_CHECKING:
    import optuna

STATES = {"COMPLETE": "completed", "PRUNED": "pruned", "FAIL": "failed"}


@contextmanager
def open_study(out: Path, header: dict[str, Any]) -> Iterator["optuna.Study"]:
    """Yield the study in ``out/study.db``, made when absent.

    Trials that an interrupt left running are marked as failed. A study with another header is
    an error, so that one search never mixes with another.
    """
    import optuna

    path = out / "study.db"
    if not path.exists() and out.exists() and (not out.is_dir() or entries(out)):
        raise RunError(
            f"the folder must be new, empty or a search to continue (got {out}); give another --out"
        )
    out.mkdir(parents=True, exist_ok=True)
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        storage, study = _open(path)
        try:
            _check_header(study, header, out)
            for trial in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):
                study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            yield study
        finally:
            storage.remove_session()
            storage.engine.dispose()
    finally:
        optuna.logging.set_verbosity(verbosity)


@contextmanager
def memory_study(
    sampler: "optuna.samplers.BaseSampler | None" = None,
) -> Iterator["optuna.Study"]:
    """Yield a study that is held in memory only."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna.create_study(direction="maximize", sampler=sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)


def finished_trials(study: "optuna.Study") -> list["optuna.trial.FrozenTrial"]:
    """Return the trials that ended by themselves: not those cut off by an interrupt."""
    return [
        trial
        for trial in study.get_trials(deepcopy=False)
        if trial.state.name in STATES and "seconds" in trial.user_attrs
    ]


def trial_record(trial: "optuna.trial.FrozenTrial") -> dict[str, Any]:
    """Return one trial, ready for JSON."""
    attributes = trial.user_attrs
    completed = trial.state.name == "COMPLETE"
    record = {
        "number": trial.number,
        "state": STATES.get(trial.state.name, "interrupted"),
        "settings": attributes.get("settings", {}),
        "val_accuracy": trial.value if completed else None,
        "val_loss": attributes.get("val_loss"),
        "runs": attributes.get("runs", []),
        "seconds": attributes.get("seconds"),
    }
    if "seconds" not in attributes:
        record["state"] = "interrupted"
    if "message" in attributes:
        record["message"] = attributes["message"]
    return record


def _open(path: Path) -> tuple[Any, "optuna.Study"]:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    try:
        storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
        study = optuna.create_study(
            storage=storage,
            study_name="tune",
            direction="maximize",
            pruner=optuna.pruners.NopPruner(),
            load_if_exists=True,
        )
    except (SQLAlchemyError, optuna.exceptions.OptunaError, RuntimeError) as error:
        raise RunError(
            f"{path} must be a readable study to be continued ({type(error).__name__}); "
            "give another --out"
        ) from error
    return storage, study


def _check_header(study: "optuna.Study", header: dict[str, Any], out: Path) -> None:
    known = study.user_attrs.get("header")
    if known is None:
        study.set_user_attr("header", header)
        return
    differs = next((key for key in differing(header, known) if key in header), None)
    if differs is None:
        return
    got, held = (_short(values.get(differs)) for values in (header, known))
    raise RunError(
        f"{out} must hold the same search to be continued, but it has another {differs} "
        f"(got {got}; it holds {held}); give another --out"
    )


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return "other values" if isinstance(value, dict) else str(value)
