"""The members of a portfolio on one split of a graph: trained, ranked, averaged."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from herofilter.callbacks import Callback, notify, with_values
from herofilter.config import Config
from herofilter.data import select_split
from herofilter.errors import HeroFilterError, RunError
from herofilter.training.loop import TrainResult, predict_logits
from herofilter.training.metrics import full_score, score
from herofilter.training.recipe import PreparedGraphs, Trained, fit_split
from herofilter.training.search.ensemble import probabilities, rank, score_mean, select_ensemble
from herofilter.training.search.portfolio import Member
from herofilter.training.split_metrics import split_metrics

SHORT_RUNS_ABOVE = 20_000
FINALISTS = 2


@dataclass(frozen=True)
class MemberRun:
    """What one training of a member gave; test labels are not read.

    ``position`` is that of the member in its portfolio.
    """

    member: Member
    position: int
    result: TrainResult
    val_logits: Tensor
    test_logits: Tensor
    seconds: float

    def rank(self) -> tuple[float, float, int]:
        return (*rank(self.result.val), -self.position)


class PortfolioRun:
    """The members of a portfolio on one split of a graph.

    Only the best member's network is held; of the others the logits remain.

    Args:
        graphs: the graph; several splits may share it.
        split: which column of its masks.
        callback: takes events of the stages ``epoch`` and ``member``.
    """

    def __init__(
        self, graphs: PreparedGraphs, split: int, callback: Callback | None = None
    ) -> None:
        data = graphs.data
        self.graphs, self.data, self.split = graphs, data, split
        self.callback = with_values(callback, split=split)
        self.attempts = 0
        self.num_runs: int | None = None
        chosen = select_split(data, split)
        self.y = data.y.long()
        self.val_nodes = chosen.val_mask.nonzero().view(-1)
        test = chosen.get("test_mask")
        self.test_nodes = torch.arange(0) if test is None else test.nonzero().view(-1)
        self.short: list[MemberRun] = []
        self.runs: list[MemberRun] = []
        self._trained: Trained | None = None
        self.skipped: dict[str, str] = {}
        self.started = time.perf_counter()

    @property
    def best(self) -> MemberRun:
        return max(self.runs, key=MemberRun.rank)

    @property
    def trained(self) -> Trained:
        """The network of the best member."""
        if self._trained is None:
            raise RunError("a member must have been trained first (got none); call run")
        return self._trained

    def run(self, members: Sequence[Member]) -> None:
        """Train all members, or on a large graph the best two after a short run of all."""
        order, wanted = list(enumerate(members)), len(members)
        self.num_runs = wanted
        if int(self.data.num_nodes or 0) > SHORT_RUNS_ABOVE and wanted > FINALISTS:
            # how many finalists fail isn't known before
            self.num_runs = None
            for position, member in order:
                self._attempt(position, member, self.short, _short_run(member.config))
            ranked = sorted(self.short, key=MemberRun.rank, reverse=True)
            order, wanted = [(run.position, run.member) for run in ranked], FINALISTS
        for position, member in order:
            # a finalist that fails makes room for the next one
            if len(self.runs) < wanted:
                self._attempt(position, member, self.runs, member.config)
        if not self.runs:
            raise self.failure

    def metrics(self, ensemble: bool) -> dict[str, Any]:
        """Read the test labels for the pick and return the split's metrics, ready for JSON."""
        best = self.best
        y = self.y[self.test_nodes]
        result = replace(
            best.result,
            test=score(best.test_logits, y, with_auc=True),
            report=full_score(best.test_logits, y),
        )
        entries = {run.member.name: _entry(run, short=True) for run in self.short}
        for run in self.runs:
            before = entries.get(run.member.name, {"seconds": 0.0})["seconds"]
            entries[run.member.name] = _entry(run, short=False, before=before)
        metrics = {
            **split_metrics(result, time.perf_counter() - self.started),
            "picked": best.member.name,
            "members": entries,
            "skipped": self.skipped,
        }
        return {**metrics, "ensemble": self._ensemble()} if ensemble else metrics

    def _attempt(
        self, position: int, member: Member, runs: list[MemberRun], config: Config
    ) -> None:
        try:
            run, trained = self._train(position, member, config)
        except HeroFilterError as error:
            # its traceback would hold on to the graph and the network
            self.skipped[member.name], self.failure = str(error), error.with_traceback(None)
            values: dict[str, float | None] = {"val_accuracy": None, "val_loss": None}
        else:
            runs.append(run)
            if runs is self.runs and run is self.best:
                self._trained = trained
            values = {f"val_{key}": value for key, value in asdict(run.result.val).items()}
        self.attempts += 1
        notify(self.callback, "member", self.attempts, self.num_runs, member.name, values)

    def _train(self, position: int, member: Member, config: Config) -> tuple[MemberRun, Trained]:
        started = time.perf_counter()
        callback = with_values(self.callback, member=member.name)
        trained = fit_split(self.graphs, member.model, config, self.split, callback)
        if trained.result.interrupted:
            raise KeyboardInterrupt
        val, test = (
            predict_logits(trained.network, trained.prepared, nodes)
            if nodes.numel()
            else torch.zeros(0, self.graphs.num_classes)
            for nodes in (self.val_nodes, self.test_nodes)
        )
        seconds = time.perf_counter() - started
        return MemberRun(member, position, trained.result, val, test, seconds), trained

    def _ensemble(self) -> dict[str, Any]:
        runs = sorted(self.runs, key=lambda run: run.position)
        val = [probabilities(run.val_logits) for run in runs]
        chosen = select_ensemble(val, self.y[self.val_nodes])
        test = [probabilities(runs[index].test_logits) for index in chosen]
        mean = score_mean([val[index] for index in chosen], self.y[self.val_nodes])
        final = score_mean(test, self.y[self.test_nodes])
        return {
            "test_accuracy": final.accuracy,
            "val_accuracy": mean.accuracy,
            "members": dict(Counter(runs[index].member.name for index in chosen)),
        }


def _short_run(config: Config) -> Config:
    epochs = config.train.epochs
    return config.replace(epochs=min(epochs, max(10, epochs // 10)))


def _entry(run: MemberRun, *, short: bool, before: float = 0.0) -> dict[str, Any]:
    return {
        "val_accuracy": run.result.val.accuracy,
        "val_loss": run.result.val.loss,
        "epochs": len(run.result.history),
        "short": short,
        "seconds": before + run.seconds,
    }
