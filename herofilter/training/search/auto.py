"""One model for a graph that nobody has seen: a portfolio, picked by validation."""

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import check_graph, select_split
from herofilter.errors import ConfigError, HeroFilterError
from herofilter.nn import find_model
from herofilter.training.artifacts.run_folder import RunFolder
from herofilter.training.loop import Epoch, TrainResult, predict_logits
from herofilter.training.metrics import Score, full_score, score
from herofilter.training.prepare import prepare
from herofilter.training.protocol import OnEpoch, split_metrics, spread, train_split
from herofilter.training.search.ensemble import probabilities, rank, score_mean, select_ensemble
from herofilter.training.search.portfolio import Member, portfolio

SHORT_RUNS_ABOVE = 20_000
FINALISTS = 2

OnMember = Callable[[int, Member, Score | None], None]


def train_auto(
    data: Data,
    config: Config | None = None,
    splits: Sequence[int] = (0,),
    graph: str = "graph",
    out: str | Path | None = None,
    on_epoch: OnEpoch | None = None,
    on_member: OnMember | None = None,
    ensemble: bool = False,
    members: Sequence[Member] | None = None,
) -> dict[str, Any]:
    """Train a portfolio on each split, keep the member that validation prefers, and score it.

    The pick is the member with the highest validation accuracy; ties go to the lower validation
    loss, then to the earlier member. Test labels are read once per split, for the model that
    was picked (and once more for the ensemble, if there is one). Since the validation part has
    chosen among several members, its own accuracy flatters the pick; the test accuracy doesn't.

    Beyond 20 000 nodes every member first gets a short run of a tenth of the epochs (at least
    ten); then the best two are trained anew in full, and the pick is among them. A member that
    can't be built or trained for the graph is skipped. Ctrl-C keeps the finished splits; before
    the first one is finished there is nothing to keep, and it is passed on.

    Args:
        data: a graph with masks of one or more splits, as it was read.
        config: what members share; recommended settings by default.
        splits: which columns of the masks.
        graph: the graph's name, for the record.
        out: a run folder to write, or to continue; it holds the picked member's weights.
        on_epoch: called with the split and the epoch, for every member.
        on_member: called after each run of a member with the split, the member, and its
            validation score (None when it is skipped).
        ensemble: also average the members that
            :func:`~herofilter.training.search.ensemble.select_ensemble` takes.
        members: what to train; by default :func:`~herofilter.training.search.portfolio.portfolio`.

    Returns:
        The keys of :func:`~herofilter.training.protocol.train_splits`, about the picked
        members; ``picked``, the name per split; ``members`` with ``name``, ``model``, ``why``,
        ``config``, ``val_accuracy`` per split, ``short`` (the splits in which that is the short
        run's) and ``seconds``; ``skipped``, the reason per name; and with ``ensemble`` its own
        ``test_accuracy``, ``val_accuracy`` and ``members`` (per split, how often each counts).

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=100, num_classes=3, heterophily=0.1)
        >>> summary = train_auto(data, Config().replace(epochs=5))
        >>> len(summary["members"]), list(summary["picked"])
        (7, ['0'])
    """
    config = config or Config()
    check_graph(data)
    for split in splits:
        check_graph(select_split(data, split), split_required=True)
    members = portfolio(data, config) if members is None else members
    _check_members(members)
    header = {
        "graph": graph,
        "variant": data.get("variant", ""),
        "model": "auto",
        "config": config.to_dict(),
    }
    folder = None
    if out is not None:
        described = [_describe(member) for member in members]
        folder = RunFolder(Path(out), {**header, "ensemble": ensemble, "members": described})
    finished: dict[str, dict[str, Any]] = dict(folder.splits) if folder is not None else {}
    interrupted = False
    try:
        for split in splits:
            if str(split) in finished:
                continue
            contest = PortfolioRun(data, split, on_epoch, on_member)
            contest.run(members)
            finished[str(split)] = contest.metrics(ensemble)
            if folder is not None:
                history = [dataclasses.asdict(epoch) for epoch in contest.best.result.history]
                folder.add(str(split), finished[str(split)], history, contest.best.state)
    except KeyboardInterrupt:
        if not any(str(split) in finished for split in splits):
            raise
        interrupted = True
    chosen = {str(split): finished[str(split)] for split in splits if str(split) in finished}
    summary = {**header, **_summarise(chosen, members), "interrupted": interrupted}
    if folder is not None and not interrupted:
        folder.finish({key: value for key, value in summary.items() if key != "splits"})
    return summary


@dataclass(frozen=True)
class _Trial:
    """What one run of a member gave, without a look at test labels."""

    member: Member
    place: int
    result: TrainResult
    val_logits: Tensor
    test_logits: Tensor
    state: dict[str, Tensor]
    seconds: float

    def rank(self) -> tuple[float, float, int]:
        return (*rank(self.result.val), -self.place)


class PortfolioRun:
    """The members of a portfolio on one split of a graph.

    Only the leader's weights are held; of the others the logits remain.
    """

    def __init__(
        self, data: Data, split: int, on_epoch: OnEpoch | None, on_member: OnMember | None
    ) -> None:
        self.data, self.split = data, split
        self.on_epoch, self.on_member = on_epoch, on_member
        chosen = select_split(data, split)
        self.y = data.y.long()
        self.val_nodes = chosen.val_mask.nonzero().view(-1)
        self.test_nodes = chosen.test_mask.nonzero().view(-1)
        self.short: list[_Trial] = []
        self.trials: list[_Trial] = []
        self.skipped: dict[str, str] = {}
        self.started = time.perf_counter()

    @property
    def best(self) -> _Trial:
        return max(self.trials, key=_Trial.rank)

    def run(self, members: Sequence[Member]) -> None:
        """Train all members, or on a large graph the best two after a short run of all."""
        order, wanted = list(enumerate(members)), len(members)
        if int(self.data.num_nodes or 0) > SHORT_RUNS_ABOVE and wanted > FINALISTS:
            for place, member in order:
                self._attempt(place, member, self.short, _short_run(member.config))
            ranked = sorted(self.short, key=_Trial.rank, reverse=True)
            order, wanted = [(trial.place, trial.member) for trial in ranked], FINALISTS
        for place, member in order:
            # a finalist that fails makes room for the next one
            if len(self.trials) < wanted:
                self._attempt(place, member, self.trials, member.config)
        if not self.trials:
            raise self.failure

    def metrics(self, ensemble: bool) -> dict[str, Any]:
        """Read the test labels for the pick and return the split's numbers, ready for JSON."""
        best = self.best
        y = self.y[self.test_nodes]
        result = dataclasses.replace(
            best.result, test=score(best.test_logits, y), report=full_score(best.test_logits, y)
        )
        entries = {trial.member.name: _entry(trial, short=True) for trial in self.short}
        for trial in self.trials:
            before = entries.get(trial.member.name, {"seconds": 0.0})["seconds"]
            entries[trial.member.name] = _entry(trial, short=False, before=before)
        metrics = {
            **split_metrics(result, time.perf_counter() - self.started),
            "picked": best.member.name,
            "members": entries,
            "skipped": self.skipped,
        }
        return {**metrics, "ensemble": self._ensemble()} if ensemble else metrics

    def _attempt(self, place: int, member: Member, trials: list[_Trial], config: Config) -> None:
        try:
            trial = self._train(place, member, config)
        except HeroFilterError as error:
            # its traceback would hold on to the graph and the network
            self.skipped[member.name], self.failure = str(error), error.with_traceback(None)
            val = None
        else:
            trials.append(trial)
            for other in self.trials + self.short:
                if trials is self.short or other is not self.best:
                    other.state.clear()
            val = trial.result.val
        if self.on_member is not None:
            self.on_member(self.split, member, val)

    def _train(self, place: int, member: Member, config: Config) -> _Trial:
        started = time.perf_counter()
        prepared = prepare(self.data, config, member.model)
        network, result = train_split(
            prepared, member.model, config, self.split, self._report, score_test=False
        )
        if result.interrupted:
            raise KeyboardInterrupt
        return _Trial(
            member,
            place,
            result,
            predict_logits(network, prepared, self.val_nodes),
            predict_logits(network, prepared, self.test_nodes),
            dict(network.state_dict()),
            time.perf_counter() - started,
        )

    def _report(self, epoch: Epoch) -> None:
        if self.on_epoch is not None:
            self.on_epoch(self.split, epoch)

    def _ensemble(self) -> dict[str, Any]:
        trials = sorted(self.trials, key=lambda trial: trial.place)
        val = [probabilities(trial.val_logits) for trial in trials]
        chosen = select_ensemble(val, self.y[self.val_nodes])
        test = [probabilities(trials[number].test_logits) for number in chosen]
        own = score_mean([val[number] for number in chosen], self.y[self.val_nodes])
        final = score_mean(test, self.y[self.test_nodes])
        return {
            "test_accuracy": final.accuracy,
            "val_accuracy": own.accuracy,
            "members": dict(Counter(trials[number].member.name for number in chosen)),
        }


def _short_run(config: Config) -> Config:
    epochs = config.train.epochs
    return config.replace(epochs=min(epochs, max(10, epochs // 10)))


def _entry(trial: _Trial, *, short: bool, before: float = 0.0) -> dict[str, Any]:
    return {
        "val_accuracy": trial.result.val.accuracy,
        "val_loss": trial.result.val.loss,
        "epochs": len(trial.result.history),
        "short": short,
        "seconds": before + trial.seconds,
    }


def _describe(member: Member) -> dict[str, Any]:
    return {**dataclasses.asdict(member), "config": member.config.to_dict()}


def _check_members(members: Sequence[Member]) -> None:
    names = [member.name for member in members]
    if not names or len(set(names)) < len(names):
        raise ConfigError(
            "members must be at least one and have different names "
            f"(got {', '.join(names) or 'none'})"
        )
    for member in members:
        find_model(member.model)


def _summarise(chosen: dict[str, dict[str, Any]], members: Sequence[Member]) -> dict[str, Any]:
    summary: dict[str, Any] = {
        key: spread([entry[key] for entry in chosen.values()])
        for key in ("test_accuracy", "val_accuracy")
    }
    summary["splits"] = [int(split) for split in chosen]
    summary["seconds"] = sum(entry["seconds"] for entry in chosen.values())
    summary["picked"] = {split: entry["picked"] for split, entry in chosen.items()}
    summary["members"] = []
    for member in members:
        runs = {
            split: entry["members"][member.name]
            for split, entry in chosen.items()
            if member.name in entry["members"]
        }
        summary["members"].append(
            {
                **_describe(member),
                "val_accuracy": {split: run["val_accuracy"] for split, run in runs.items()},
                "short": [int(split) for split, run in runs.items() if run["short"]],
                "seconds": sum(run["seconds"] for run in runs.values()),
            }
        )
    summary["skipped"] = {
        name: reason for entry in chosen.values() for name, reason in entry["skipped"].items()
    }
    averaged = {split: entry["ensemble"] for split, entry in chosen.items() if "ensemble" in entry}
    if averaged:
        summary["ensemble"] = {
            "test_accuracy": spread([entry["test_accuracy"] for entry in averaged.values()]),
            "val_accuracy": spread([entry["val_accuracy"] for entry in averaged.values()]),
            "members": {split: entry["members"] for split, entry in averaged.items()},
        }
    return summary
