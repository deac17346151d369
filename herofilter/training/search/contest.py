"""Contenders trained one after the other until a time, each finished training kept on disk."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback, notify, setting_values, with_values
from herofilter.config import Config
from herofilter.data import TableGraph
from herofilter.errors import HeroFilterError
from herofilter.nn.naming import model_title
from herofilter.training.metrics import full_score
from herofilter.training.predictor import Predictor
from herofilter.training.recipe import PreparedGraphs, fit_split, make_predictor, settle
from herofilter.training.search.choices import METRICS
from herofilter.training.search.clock import LEAST_RESERVE, Clock
from herofilter.training.search.contenders import Contender, fixed_settings
from herofilter.training.search.contest_store import ContestStore
from herofilter.training.search.proposals import Proposals
from herofilter.training.search.schedule import Attempt, Schedule, Turn
from herofilter.training.search.space import SearchSpace, changed_settings, make_space

# of a training's time that the choice of its patches may take
MOST_FOR_PATCHES = 0.5
SECONDS_PER_PRODUCT, SECONDS_PER_NODE = 2e-10, 1.5e-4


@dataclass(frozen=True)
class Candidate:
    """The best training of a contender.

    Args:
        contender: who.
        predictor: the trained model, calibrated.
        attempt: the training.
        val: measures on the validation nodes, which chose settings and epoch.
        log_probabilities: of the validation nodes, ``[b, C]``.
        trials: how many trainings the contender had.
        seconds: all of them together.
        changed: settings that aren't those recommended for the graph.
    """

    contender: Contender
    predictor: Predictor
    attempt: Attempt
    val: dict[str, Any]
    log_probabilities: Tensor
    trials: int
    seconds: float
    changed: dict[str, Any]

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.predictor.saved.model

    @property
    def title(self) -> str:
        """What it is: HeroFilter only if its settings leave it all of its parts."""
        if self.model != "herofilter":
            return self.contender.title
        title = model_title(self.model, self.predictor.saved.config)
        return self.contender.title.replace("HeroFilter", title)


class Contest:
    """Train contenders on one graph until time or trials are used up.

    Args:
        graph: the user's graph, with the masks of one split.
        contenders: from the simple to the complex.
        metric: a key of ``METRICS``: what validation chooses by.
        clock: the time.
        seed: of trainings and suggestions.
        settings: ``key=value``, the same for all.
        trials: trainings of each contender at most.
        store: where finished trainings are kept, and continued from.
        callback: takes events of stage ``attempt`` before a training, ``epoch`` during it and
            ``trial`` after it.
    """

    def __init__(
        self,
        graph: TableGraph,
        contenders: Sequence[Contender],
        metric: str,
        clock: Clock,
        seed: int,
        settings: tuple[str, ...],
        trials: int,
        store: ContestStore,
        callback: Callback | None,
    ) -> None:
        self.graph, self.metric, self.clock, self.seed = graph, metric, clock, seed
        self.store, self.callback = store, callback
        self.contenders = {contender.name: contender for contender in contenders}
        self.graphs = PreparedGraphs(graph.data, len(graph.classes))
        self.val_y = graph.data.y[graph.data.val_mask.view(-1)]
        self.spaces = {
            name: self._space(contender, settings) for name, contender in self.contenders.items()
        }
        self.proposals = {name: Proposals(space, seed) for name, space in self.spaces.items()}
        shares = {contender.name: contender.share for contender in contenders}
        fixed = frozenset(entry.name for entry in contenders if not entry.searched)
        self.schedule = Schedule(shares, trials, fixed)
        self.attempts: list[Attempt] = []
        self.predictors: dict[str, Predictor] = {}

    def run(self) -> None:
        """Take up what is kept already, then train until time or trials are used up."""
        for attempt in self.store.attempts:
            if attempt.contender in self.contenders:
                if attempt.settings or not self._own(attempt.contender):
                    self.proposals[attempt.contender].ask()
                self._record(attempt)
        while (turn := self.schedule.turn(self.attempts, self.clock.left)) is not None:
            if not self._worth_it(turn):
                break
            attempt = self._train(turn)
            self._record(attempt)
            self.store.add(attempt)
            self._report(attempt)

    def candidates(self) -> dict[str, Candidate]:
        """Return the best training of each contender that has a model, with its validation."""
        found = {}
        for name in self.contenders:
            own = self._own(name)
            best = _best(own)
            if best is not None:
                found[name] = self._candidate(name, best, own)
        return found

    def _candidate(self, name: str, best: Attempt, own: Sequence[Attempt]) -> Candidate:
        predictor = self.predictors.get(name) or self.store.load(name, self.graph)
        nodes = self.graph.data.val_mask.view(-1).nonzero().view(-1)
        logits = predictor.predict_logits(nodes) / predictor.temperature
        return Candidate(
            self.contenders[name],
            predictor,
            best,
            full_score(logits, self.val_y),
            logits.double().log_softmax(1),
            len(own),
            sum(attempt.seconds for attempt in own),
            changed_settings(predictor.saved.config, self._recommended(name)),
        )

    def _recommended(self, name: str) -> Config:
        contender = self.contenders[name]
        own = Config().with_settings(fixed_settings(contender, self.graph.data, ()))
        return settle(self.graph.data, contender.model, own)

    def _space(self, contender: Contender, settings: tuple[str, ...]) -> SearchSpace:
        fixed = fixed_settings(contender, self.graph.data, settings)
        # what ranks nodes stops by their ranking, unless the user wants it otherwise
        if self.metric in ("auc", "ap") and not any("monitor=" in entry for entry in fixed):
            fixed.append("monitor=auc")
        return make_space("wide", contender.model, self.graph.data, fixed)

    def _own(self, name: str) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.contender == name]

    def _worth_it(self, turn: Turn) -> bool:
        """Whether a training may still begin: the first of all always, so that there is a model."""
        return self.clock.left > 0 or not self.attempts

    def _train(self, turn: Turn) -> Attempt:
        name, started = turn.contender, time.perf_counter()
        notify(self.callback, "attempt", turn.number, name=self.contenders[name].title)
        space, proposed = self.spaces[name], {}
        # a first training that the clock stopped may come again, with the same settings
        if turn.number or not self._own(name):
            proposed = dict(self.proposals[name].ask())
        config = space.config(proposed) if turn.number else space.base
        model = self.contenders[name].model
        config = settle(self.graph.data, model, config.replace(seed=self.seed))
        begun = Attempt(name, proposed if turn.number else {})
        expected = build_seconds(self.graph.data, model, config)
        if expected > MOST_FOR_PATCHES * turn.seconds and self.attempts:
            return replace(begun, seconds=expected)
        try:
            trained = fit_split(
                self.graphs,
                model,
                config,
                callback=with_values(self.callback, contender=self.contenders[name].title),
                deadline=started + turn.seconds,
            )
        except HeroFilterError as error:
            return replace(begun, seconds=time.perf_counter() - started, message=str(error))
        if trained.result.interrupted:
            raise KeyboardInterrupt
        predictor = make_predictor(trained, self.graph, self.graph.encoder)
        before = time.perf_counter()
        logits, y = trained.logits("val")
        self._keep_time(time.perf_counter() - before, y.numel())
        value = full_score(logits / predictor.temperature, y)[METRICS[self.metric]]
        attempt = replace(
            begun,
            # without a second class in validation an AUC says nothing
            score=0.0 if value is None else float(value),
            finished=not trained.result.out_of_time,
            seconds=time.perf_counter() - started,
        )
        best = _best(self._own(name))
        if best is None or _rank(attempt) > _rank(best):
            self.predictors[name] = predictor
            self.store.save(name, predictor)
        return attempt

    def _keep_time(self, seconds: float, count: int) -> None:
        """Keep time for the predictions of all nodes, with these seconds for ``count`` of them."""
        n = int(self.graph.data.num_nodes or 0)
        self.clock.keep(LEAST_RESERVE + 2 * seconds * n / max(count, 1) + 2e-5 * n)

    def _record(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)
        self.proposals[attempt.contender].tell(attempt.score)

    def _report(self, attempt: Attempt) -> None:
        own = self._own(attempt.contender)
        best = _best(own)
        values = {
            "score": attempt.score,
            "best": None if best is None else best.score,
            "seconds": self.clock.elapsed,
            "took": attempt.seconds,
            "state": _state(attempt),
            **setting_values(attempt.settings),
        }
        title = self.contenders[attempt.contender].title
        notify(self.callback, "trial", len(own), None, title, values)


def build_seconds(data: Data, model: str, config: Config) -> float:
    """Return about how long a HeroFilter's patches take to choose, which the clock can't stop.

    Exact rows of a polynomial of order K take K products of n rows with all edges; a local choice
    takes about the same for every node.
    """
    if model != "herofilter":
        return 0.0
    n, edges = int(data.num_nodes or 0), int(data.edge_index.size(1))
    if config.patcher.patcher == "polynomial":
        return SECONDS_PER_PRODUCT * n * edges * config.patcher.filter_order
    return SECONDS_PER_NODE * n


def prefer(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate that validation prefers; of equals the simpler, which comes first."""
    return max(candidates, key=lambda entry: entry.attempt.score or -math.inf)


def _best(attempts: Sequence[Attempt]) -> Attempt | None:
    scored = [attempt for attempt in attempts if attempt.score is not None]
    return max(scored, key=_rank, default=None)


def _rank(attempt: Attempt) -> tuple[float, bool]:
    return -math.inf if attempt.score is None else attempt.score, attempt.finished


def _state(attempt: Attempt) -> str:
    if attempt.message:
        return attempt.message
    if attempt.score is None:
        return f"not enough time: its patches alone take about {attempt.seconds:.0f} s"
    return "" if attempt.finished else "stopped by the clock"
