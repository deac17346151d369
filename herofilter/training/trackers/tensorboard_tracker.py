"""TensorBoard's event files."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from herofilter.callbacks import Value
from herofilter.errors import MissingExtraError
from herofilter.files import check_folder_target
from herofilter.training.trackers.tracker import Tracker

DEFAULT_FOLDER = Path("runs") / "tensorboard"


class TensorBoardTracker(Tracker):
    """Write curves, hyperparameters and results for TensorBoard (extra ``tensorboard``).

    Every part of the run has a folder of its own below ``folder/name``, so that its curves can be
    compared: ``tensorboard --logdir folder``.

    Args:
        folder: where the event files go.
        name: of the run.
    """

    def __init__(self, folder: str | Path = DEFAULT_FOLDER, name: str = "run") -> None:
        super().__init__()
        if importlib.util.find_spec("tensorboard") is None:
            raise MissingExtraError("tensorboard", "logging to TensorBoard")
        self.folder = _new_folder(Path(folder) / name)
        check_folder_target(self.folder)
        self._writers: dict[str, Any] = {}
        self._settings: dict[str, Mapping[str, Value]] = {}
        self._writer("")

    def log_settings(self, part: str, settings: Mapping[str, Value]) -> None:
        rows = [f"| {key} | {value} |" for key, value in settings.items()]
        table = "\n".join(["| setting | value |", "|---|---|", *rows])
        self._writer(part).add_text("settings", table)
        self._settings[part] = settings

    def log_metrics(self, part: str, metrics: Mapping[str, float], step: int | None) -> None:
        writer = self._writer(part)
        if step is None and metrics and part in self._settings:
            settings = self._settings[part].items()
            shown = {key: "auto" if value is None else value for key, value in settings}
            # beside the curves of the part; it writes the metrics, too
            writer.add_hparams(shown, dict(metrics), run_name=".")
            return
        for key, value in metrics.items():
            writer.add_scalar(key, value, step or 0)

    def log_texts(self, part: str, texts: Mapping[str, str]) -> None:
        for key, value in texts.items():
            self._writer(part).add_text(key, value)

    def end_part(self, part: str) -> None:
        if part in self._writers:
            self._writers.pop(part).close()

    def end(self, state: str) -> None:
        self._writer("").add_text("state", state)
        for part in list(self._writers):
            self.end_part(part)

    def _writer(self, part: str) -> Any:
        if part not in self._writers:
            # slow to import
            from torch.utils.tensorboard import SummaryWriter

            place = self.folder / part.replace("/", "-") if part else self.folder
            self._writers[part] = SummaryWriter(str(place))
        return self._writers[part]


def _new_folder(wanted: Path) -> Path:
    """Return a folder that isn't there yet: the curves of two runs don't mix."""
    count, folder = 1, wanted
    while folder.exists():
        count += 1
        folder = wanted.with_name(f"{wanted.name}-{count}")
    return folder
