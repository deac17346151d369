"""The settings that a search tries next, one study per model."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from herofilter.training.search.space import SearchSpace
from herofilter.training.search.study import memory_study
from herofilter.training.search.suggest import TrialSuggester, Value

RANDOM_TRIALS = 10


def seeded_sampler(seed: int, number: int) -> Any:
    """Return the sampler of trial ``number``: a search in two sessions is the same as in one."""
    import optuna

    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    with warnings.catch_warnings():
        # both options are years old and still called experimental
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(
            n_startup_trials=RANDOM_TRIALS, seed=own, multivariate=True, group=True
        )


class Proposals:
    """Settings to try one after the other: the recommended ones, recipes, then suggestions.

    Asked again and told the same scores, it proposes the same settings, so a search continues
    from its scores alone.

    Args:
        space: where settings come from.
        seed: of the suggestions.

    Example:
        >>> from herofilter.data import csbm
        >>> from herofilter.training.search.space import make_space
        >>> proposals = Proposals(make_space("wide", "mlp", csbm(num_nodes=60)), seed=0)
        >>> first = proposals.ask()
        >>> proposals.tell(0.5)
        >>> first["hidden_channels"], first == proposals.ask()
        (64, False)
    """

    def __init__(self, space: SearchSpace, seed: int) -> None:
        import optuna

        self.space, self.seed, self.number = space, seed, 0
        with memory_study() as study:
            self.study: optuna.Study = study
        self._trial: Any = None

    def ask(self) -> Mapping[str, Value]:
        """Return the settings of the next trial."""
        with memory_study():
            self.study.sampler = seeded_sampler(self.seed, self.number)
            starts = self.space.starts()
            if self.number < len(starts):
                self.study.enqueue_trial(starts[self.number])
            self._trial = self.study.ask()
            return self.space.suggest(TrialSuggester(self._trial))

    def tell(self, score: float | None) -> None:
        """Take in what the settings asked for last reached; None if they failed."""
        import optuna

        if self._trial is None:
            return
        failed = None if score is not None else optuna.trial.TrialState.FAIL
        with memory_study():
            self.study.tell(self._trial, score, state=failed)
        self.number, self._trial = self.number + 1, None
