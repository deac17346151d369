"""Runs of an MLflow tracking store."""

import importlib.util
import os
import socket
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from herofilter.callbacks import Value
from herofilter.errors import MissingExtraError, RunError
from herofilter.training.trackers.tracker import Tracker

EXPERIMENT = "herofilter"
# what a store takes at a time
_MOST = 100
_STATES = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}
_PATIENCE = 5.0


class MLflowTracker(Tracker):
    """Log to an MLflow store: a run, and nested in it one for each split or trial.

    It needs the extra ``mlflow``. Paths of what was written are tags; no file is uploaded.

    Args:
        uri: a server's address, ``sqlite:///runs.db``, or what else MLflow takes; by default what
            ``MLFLOW_TRACKING_URI`` says, or MLflow's own default.
        name: of the run.
        experiment: that the runs belong to; it is made if there is none.
    """

    def __init__(
        self, uri: str | None = None, name: str = "run", experiment: str = EXPERIMENT
    ) -> None:
        super().__init__()
        if importlib.util.find_spec("mlflow") is None:
            raise MissingExtraError("mlflow", "logging to MLflow")
        uri = uri or os.environ.get("MLFLOW_TRACKING_URI")
        _check_server(uri)
        try:
            from mlflow.tracking import MlflowClient

            self._client: Any = MlflowClient(tracking_uri=uri)
            found = self._client.get_experiment_by_name(experiment)
            self._experiment: str = (
                self._client.create_experiment(experiment) if found is None else found.experiment_id
            )
            self._runs = {"": self._new_run(name)}
        except Exception as error:
            raise _unusable(uri, error) from error

    def log_settings(self, part: str, settings: Mapping[str, Value]) -> None:
        from mlflow.entities import Param

        shown = {key: "auto" if value is None else str(value) for key, value in settings.items()}
        params = [Param(key, value) for key, value in shown.items()]
        for first in range(0, len(params), _MOST):
            self._client.log_batch(self._run(part), params=params[first : first + _MOST])

    def log_metrics(self, part: str, metrics: Mapping[str, float], step: int | None) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        entries = [Metric(key, value, now, step or 0) for key, value in metrics.items()]
        for first in range(0, len(entries), _MOST):
            self._client.log_batch(self._run(part), metrics=entries[first : first + _MOST])

    def log_texts(self, part: str, texts: Mapping[str, str]) -> None:
        for key, value in texts.items():
            self._client.set_tag(self._run(part), key, value)

    def end_part(self, part: str) -> None:
        if part in self._runs:
            self._client.set_terminated(self._runs.pop(part), "FINISHED")

    def end(self, state: str) -> None:
        # the run itself was made first and is closed last
        for run in reversed(self._runs.values()):
            self._client.set_terminated(run, _STATES[state])

    def _run(self, part: str) -> str:
        if part not in self._runs:
            self._runs[part] = self._new_run(part, self._runs[""])
        return self._runs[part]

    def _new_run(self, name: str, parent: str | None = None) -> str:
        tags = {} if parent is None else {"mlflow.parentRunId": parent}
        run = self._client.create_run(self._experiment, run_name=name, tags=tags)
        found: str = run.info.run_id
        return found


def _check_server(uri: str | None) -> None:
    """Raise an error unless a server answers; MLflow itself would try for minutes."""
    parts = urlsplit(uri or "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return
    try:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        socket.create_connection((parts.hostname, port), timeout=_PATIENCE).close()
    except (OSError, ValueError) as error:
        raise _unusable(uri, error) from error


def _unusable(uri: str | None, error: Exception) -> RunError:
    reason = str(error).partition("\n")[0][:200] or type(error).__name__
    return RunError(
        f"the MLflow store {uri or 'of MLflow itself'} must be one that can be written ({reason}); "
        "start the server, or give another, such as --log mlflow:sqlite:///runs.db"
    )
