"""The trials that every model of a table gets: a grid that all share, then Optuna's choices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from herofilter.errors import ConfigError
from herofilter.training.search.study import memory_study
from herofilter.training.search.suggest import Value

Settings = dict[str, Value]

# Adam, at most 500 epochs, patience 50, hidden 64, two layers
PROTOCOL: Settings = {
    "hidden_channels": 64,
    "num_layers": 2,
    "epochs": 500,
    "patience": 50,
    "monitor": "accuracy",
    "lr": 0.01,
    "weight_decay": 5e-4,
    "dropout": 0.5,
    "input_dropout": 0.5,
    "feature_scaling": "none",
}
GRID: tuple[Settings, ...] = (
    {},
    {"weight_decay": 5e-3},
    {"weight_decay": 5e-5, "lr": 0.005, "input_dropout": 0.2},
    {"feature_scaling": "rows", "input_dropout": 0.2},
)
_ATTEMPTS = 20
SPACE: dict[str, tuple[Value, ...]] = {
    "lr": (0.002, 0.005, 0.01, 0.02),
    "weight_decay": (5e-5, 5e-4, 5e-3, 2e-2),
    "dropout": (0.2, 0.5, 0.7),
    "input_dropout": (0.0, 0.2, 0.5),
    "feature_scaling": ("none", "rows"),
}


@dataclass(frozen=True)
class Plan:
    """The trials of one model on one graph.

    The first are those of the shared grid; the others are proposed by Optuna's TPE sampler from
    what the earlier ones gave, within the shared space and the model's own options. The same
    outcomes always lead to the same proposals, so a search continues from its results alone.

    Args:
        base: the model's settings where a trial says nothing else.
        options: the model's own settings with the values worth a search.
        seed: of the sampler.
    """

    base: Mapping[str, Value]
    options: Mapping[str, tuple[Value, ...]]
    seed: int = 0

    def propose(self, scores: Sequence[float | None]) -> Settings:
        """Return the settings of the trial after those whose scores are given.

        Args:
            scores: validation accuracy of every earlier trial, None for one that failed.
        """
        import optuna

        if len(scores) < len(GRID):
            return {**self.base, **GRID[len(scores)]}
        # the sampler is replayed from the start, so that it is in the state that it was in
        sampler = optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=1)
        with memory_study(sampler) as study:
            return self._replay(study, scores)

    def _replay(self, study: Any, scores: Sequence[float | None]) -> Settings:
        import optuna

        shared = _distributions(SPACE)
        tried: list[Settings] = []
        for point, score in zip(GRID, scores, strict=False):
            settings = {**self.base, **point}
            tried.append(settings)
            if score is not None:
                known = {key: settings[key] for key in shared}
                study.add_trial(
                    optuna.trial.create_trial(params=known, distributions=shared, value=score)
                )
        every = {**shared, **_distributions(self.options)}
        for score in scores[len(GRID) :]:
            trial, settings = self._ask(study, every, tried)
            tried.append(settings)
            failed = None if score is not None else optuna.trial.TrialState.FAIL
            study.tell(trial, score, state=failed)
        return self._ask(study, every, tried)[1]

    def _ask(
        self, study: Any, every: dict[str, Any], tried: Sequence[Settings]
    ) -> tuple[Any, Settings]:
        """Return a proposal that wasn't tried before, if a few attempts find one."""
        import optuna

        for attempt in range(_ATTEMPTS):
            trial = study.ask(every)
            settings = {**self.base, **trial.params}
            if settings not in tried or attempt == _ATTEMPTS - 1:
                break
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return trial, settings


def check_trials(trials: int) -> None:
    """Refuse a search without a trial."""
    if trials < 1:
        raise ConfigError(f"trials must be at least 1 (got {trials})")


def _distributions(options: Mapping[str, tuple[Value, ...]]) -> dict[str, Any]:
    import optuna

    return {
        key: optuna.distributions.CategoricalDistribution(values) for key, values in options.items()
    }
