"""The folder of a run: written after every split, so that nothing finished is lost."""

import json
from pathlib import Path
from typing import Any

import yaml
from torch import Tensor

from herofilter.errors import RunError
from herofilter.files import load_tensors, save_tensors, write_json, write_text
from herofilter.training.environment import environment


class RunFolder:
    """A folder with ``config.yaml``, ``metrics.json``, ``history.json``,
    ``weights.safetensors`` and ``environment.json``.

    Opening a folder that holds the same run continues it; one that holds another run is an
    error, so that no result is overwritten. Nothing is written before the first split is done.

    Args:
        path: the folder; made when absent.
        header: what identifies the run: graph, model, configuration.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        self.header = header
        self.splits: dict[str, dict[str, Any]] = {}
        self.history: dict[str, Any] = {}
        self.weights: dict[str, Tensor] = {}
        if (path / "config.yaml").exists():
            self._open(header)
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RunError(
                f"the run folder must be new, empty or a run to continue (got {path}); "
                "give another --out"
            )

    def add(
        self,
        split: str,
        metrics: dict[str, Any],
        history: list[dict[str, Any]],
        state: dict[str, Tensor],
    ) -> None:
        """Write one finished split, and before the first one what the run is."""
        if not (self.path / "config.yaml").exists():
            write_text(self.path / "config.yaml", yaml.safe_dump(self.header, sort_keys=False))
        if not (self.path / "environment.json").exists():
            write_json(self.path / "environment.json", environment())
        self.splits[split] = metrics
        self.history[split] = history
        self.weights.update({f"split-{split}.{key}": value for key, value in state.items()})
        save_tensors(self.path / "weights.safetensors", self.weights)
        write_json(self.path / "history.json", self.history)
        # last: a split counts as finished once its metrics are there
        write_json(self.path / "metrics.json", {"splits": self.splits})

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the summary over all splits beside them."""
        write_json(self.path / "metrics.json", {**summary, "splits": self.splits})

    def _open(self, header: dict[str, Any]) -> None:
        try:
            known = yaml.safe_load((self.path / "config.yaml").read_text(encoding="utf-8"))
            if known != header:
                raise RunError(
                    f"{self.path} must hold the same run to be continued, but its configuration "
                    "differs; give another --out"
                )
            if (self.path / "metrics.json").exists():
                self.splits = json.loads((self.path / "metrics.json").read_text())["splits"]
                self.history = json.loads((self.path / "history.json").read_text())
                self.weights, _ = load_tensors(self.path / "weights.safetensors")
        except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
            raise RunError(
                f"{self.path} must hold a readable run to be continued "
                f"({str(error).partition(chr(10))[0]}); "
                "give another --out"
            ) from error
