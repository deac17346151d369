"""One session of a search: trials until the time, their number or the grid runs out."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from herofilter.callbacks import Callback, Event, notify, setting_values
from herofilter.config import Config
from herofilter.errors import HeroFilterError, RunError
from herofilter.training.loop import TrainResult
from herofilter.training.recipe import PreparedGraphs, fit_split
from herofilter.training.search.proposals import seeded_sampler
from herofilter.training.search.pruning import CHECK_EVERY, MIN_SPLITS, lags, step_after, step_in
from herofilter.training.search.space import SearchSpace
from herofilter.training.search.study import finished_trials, trial_record
from herofilter.training.search.suggest import TrialSuggester

if TYPE_CHECKING:
    import optuna

OVERTIME = 1.2


class _Pruned(Exception):
    """The current trial is pruned."""


@dataclass
class Search:
    """One session of a search: configurations are suggested, trained on every split, compared.

    Args:
        study: where trials are kept.
        space: where configurations come from.
        splits: the splits to average over.
        seeds: of the trainings, to average over as well.
        seed: of the search.
        budget: seconds, or None.
        trials: how many there are to be at most, or None.
        callback: takes an event of stage ``trial`` after every trial, counting those of earlier
            sessions: ``state`` and ``val_accuracy`` of the trial, ``best`` of all so far (None
            if there is none), and ``seconds`` since this session began.
        graphs: the graph of the space, if others use it, too.
    """

    study: "optuna.Study"
    space: SearchSpace
    splits: list[int]
    seeds: list[int]
    seed: int
    budget: float | None
    trials: int | None
    callback: Callback | None
    graphs: PreparedGraphs | None = None
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self._graphs = self.graphs or PreparedGraphs(self.space.data)

    def run(self) -> None:
        """Try one configuration after the other until time, trials or the grid run out."""
        import optuna

        grid = self.space.grid()
        while not self._is_over(grid):
            trial = self._ask(grid)
            started = time.perf_counter()
            runs: list[dict[str, Any]] = []
            state = optuna.trial.TrialState.FAIL
            message = ""
            try:
                self._try(trial, runs)
                state = optuna.trial.TrialState.COMPLETE
                trial.set_user_attr("val_loss", statistics.fmean(run["val_loss"] for run in runs))
            except _Pruned as reason:
                state, message = optuna.trial.TrialState.PRUNED, str(reason)
            except HeroFilterError as error:
                message = str(error)
            except BaseException:
                self.study.tell(trial, state=state)
                raise
            trial.set_user_attr("runs", runs)
            if message:
                trial.set_user_attr("message", message)
            trial.set_user_attr("seconds", round(time.perf_counter() - started, 3))
            completed = state == optuna.trial.TrialState.COMPLETE
            self.study.tell(trial, _mean(runs) if completed else None, state)
            self._report(trial.number)

    def run_finals(self, count: int, seeds: Sequence[int]) -> None:
        """Train the best ``count`` trials, and the default, with further seeds on every split.

        The best of many trials is partly the luckiest. What the finals give is averaged with
        what the trial had, and the choice is among the finalists alone. One that fails with a
        further seed isn't reliable, and is no finalist.
        """
        completed = self._completed()
        chosen = completed[:count] + [r for r in completed[count:] if r["number"] == 0]
        for record in chosen if count else []:
            name, held = f"finals-{record['number']}", self._finals(record["number"])
            config = self.space.config(record["settings"])
            try:
                for seed in [seed for seed in seeds if seed not in {run["seed"] for run in held}]:
                    for split in self.splits:
                        result = self._train(config.replace(seed=seed), split)
                        if result.interrupted:
                            raise KeyboardInterrupt
                        held.append(_run(split, seed, result))
                    self.study.set_user_attr(name, held)
            except HeroFilterError:
                self.study.set_user_attr(name, [])

    def best(self, finals: bool = False) -> dict[str, Any]:
        """Return the best completed trial, or the best finalist when there were ``finals``.

        Ties go to the lower loss, then to the earlier trial.
        """
        completed = self._completed()
        for record in completed:
            record["finals"] = self._finals(record["number"]) if finals else []
            if record["finals"]:
                runs = [*record["runs"], *record["finals"]]
                record["val_accuracy"] = _mean(runs)
                record["val_loss"] = statistics.fmean(run["val_loss"] for run in runs)
        finalists = [record for record in completed if record["finals"]] or completed
        if finalists:
            return min(finalists, key=_rank)
        finished = [trial_record(trial) for trial in finished_trials(self.study)]
        failed = [record["message"] for record in finished if record["state"] == "failed"]
        if failed:
            raise RunError(f"some trial must succeed, but all failed, the last with: {failed[-1]}")
        raise RunError(
            "at least one trial must be finished within the budget (got none); "
            "give a longer --budget or fewer --splits"
        )

    def _completed(self) -> list[dict[str, Any]]:
        """Return the completed trials, the best first."""
        finished = [trial_record(trial) for trial in finished_trials(self.study)]
        return sorted((r for r in finished if r["state"] == "completed"), key=_rank)

    def _finals(self, number: int) -> list[dict[str, Any]]:
        return list(self.study.user_attrs.get(f"finals-{number}", []))

    def default_accuracy(self) -> float | None:
        """Return what the first trial, the default configuration, had; None if it failed."""
        first = finished_trials(self.study)[0]
        return first.value if first.state.name == "COMPLETE" else None

    def _is_over(self, grid: list[dict[str, Any]] | None) -> bool:
        finished = len(finished_trials(self.study))
        return (
            (self.trials is not None and finished >= self.trials)
            or (grid is not None and finished >= len(grid))
            or (self.budget is not None and self._seconds() >= self.budget)
        )

    def _ask(self, grid: list[dict[str, Any]] | None) -> "optuna.Trial":
        import optuna

        finished = len(finished_trials(self.study))
        self.study.sampler = seeded_sampler(self.seed, finished)
        waiting = self.study.get_trials(states=[optuna.trial.TrialState.WAITING])
        if not waiting and grid is not None:
            order = np.random.default_rng(self.seed).permutation(len(grid) - 1) + 1
            self.study.enqueue_trial(grid[order[finished - 1]] if finished else grid[0])
        elif not waiting and finished < len(starts := self.space.starts()):
            self.study.enqueue_trial(starts[finished])
        return self.study.ask()

    def _try(self, trial: "optuna.Trial", runs: list[dict[str, Any]]) -> None:
        """Train the trial's configuration on every split, and note each result in ``runs``."""
        import optuna

        values = self.space.suggest(TrialSuggester(trial))
        trial.set_user_attr("settings", values)
        config = self.space.config(values)
        completed = self.study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
        curves = [other.intermediate_values for other in completed]
        pairs = [(split, seed) for split in self.splits for seed in self.seeds]
        for number, (split, seed) in enumerate(pairs):
            watch = self._watch(trial, runs, curves)
            result = self._train(config.replace(seed=seed), split, watch)
            if result.interrupted:
                raise KeyboardInterrupt
            runs.append(_run(split, seed, result))
            value, step = _mean(runs), step_after(number)
            trial.report(value, step)
            enough = number + 1 >= MIN_SPLITS * len(self.seeds) and number + 1 < len(pairs)
            if enough and lags(value, step, curves):
                raise _Pruned(f"below the median after {number + 1} of {len(pairs)} trainings")

    def _train(self, config: Config, split: int, watch: Callback | None = None) -> TrainResult:
        return fit_split(self._graphs, self.space.model, config, split, watch).result

    def _watch(
        self, trial: "optuna.Trial", runs: list[dict[str, Any]], curves: list[dict[int, float]]
    ) -> Callback:
        accuracy, number = 0.0, len(runs)

        def watch(event: Event) -> None:
            nonlocal accuracy
            accuracy = max(accuracy, event.number("val_accuracy"))
            if self.budget is not None and self._seconds() > OVERTIME * self.budget:
                raise _Pruned("the budget ran out")
            if event.done % CHECK_EVERY:
                return
            value = _mean([*runs, {"val_accuracy": accuracy}])
            step = step_in(number, event.done)
            trial.report(value, step)
            if lags(value, step, curves, patient=True):
                raise _Pruned(
                    f"in the lowest quarter at epoch {event.done} of training {number + 1}"
                )

        return watch

    def _report(self, number: int) -> None:
        if self.callback is None:
            return
        finished = [trial_record(trial) for trial in finished_trials(self.study)]
        values = [record["val_accuracy"] for record in finished if record["state"] == "completed"]
        record = next(record for record in finished if record["number"] == number)
        about = {
            "state": record["state"],
            "val_accuracy": record["val_accuracy"],
            "best": max(values, default=None),
            "seconds": self._seconds(),
            **setting_values(record["settings"]),
        }
        notify(self.callback, "trial", len(finished), self.trials, self.space.model, about)

    def _seconds(self) -> float:
        return time.perf_counter() - self.started


def _run(split: int, seed: int, result: TrainResult) -> dict[str, Any]:
    val = result.val
    return {"split": split, "seed": seed, "val_accuracy": val.accuracy, "val_loss": val.loss}


def _rank(record: dict[str, Any]) -> tuple[float, float, int]:
    return -record["val_accuracy"], record["val_loss"], record["number"]


def _mean(runs: Sequence[dict[str, Any]]) -> float:
    return statistics.fmean(run["val_accuracy"] for run in runs)
