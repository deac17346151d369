"""One model for an unknown graph: the member of a portfolio that validation prefers."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.config import Config
from herofilter.data import check_graph, select_split
from herofilter.devices import find_device
from herofilter.errors import ConfigError
from herofilter.folders import locked_folder
from herofilter.nn import find_model
from herofilter.nn.build import resolve
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.nn.naming import model_title
from herofilter.training.artifacts.graph_reference import GraphSource
from herofilter.training.artifacts.run_folder import RunFolder
from herofilter.training.protocol import notify_split
from herofilter.training.recipe import PreparedGraphs, saved_split
from herofilter.training.search.portfolio import Member, portfolio
from herofilter.training.search.portfolio_run import PortfolioRun
from herofilter.training.split_metrics import ranking_spreads, spread


def train_auto(
    data: Data,
    config: Config | None = None,
    splits: Sequence[int] = (0,),
    graph: str = "graph",
    out: str | Path | None = None,
    callback: Callback | None = None,
    ensemble: bool = False,
    members: Sequence[Member] | None = None,
    source: GraphSource | None = None,
) -> dict[str, Any]:
    """Train a portfolio on each split, keep the member that validation prefers, and score it.

    The pick is the member with the highest validation accuracy; ties go to the lower validation
    loss, then to the earlier member. Test labels are read once per split, for the model that
    was picked (and once more for the ensemble, if there is one). Since the validation part has
    chosen among several members, its accuracy flatters the pick; the test accuracy doesn't.

    Beyond 20 000 nodes every member first gets a short run of a tenth of the epochs (at least
    ten); then the best two are trained anew in full, and the pick is among them. A member that
    can't be built or trained for the graph is skipped. Ctrl-C keeps the finished splits; before
    the first one is finished there is nothing to keep, and it is passed on.

    Args:
        data: a graph with masks of one or more splits, as it was read.
        config: what members share; recommended settings by default.
        splits: which columns of the masks.
        graph: the graph's name, for the record.
        out: a run folder to write, or to continue; it holds the picked member of each split as a
            model folder.
        callback: takes events of stage ``epoch`` for every member, of stage ``member`` after each
            run of a member (``val_accuracy`` is None when it is skipped) and of stage ``split``;
            the value ``split`` is the number of the split.
        ensemble: also average the members that
            :func:`~herofilter.training.search.ensemble.select_ensemble` takes.
        members: what to train; by default :func:`~herofilter.training.search.portfolio.portfolio`.
        source: where the graph was loaded from, so that the run folder needs no copy of it.

    Returns:
        The keys of :func:`~herofilter.training.protocol.train_splits`, about the picked
        members; ``picked``, the name per split; ``members`` with ``name``, ``model``, ``title``
        (what it is), ``why``, ``config``, ``val_accuracy`` per split, ``short`` (the splits in
        which that is the short run's) and ``seconds``; ``skipped``, the reason per name; and with
        ``ensemble`` its own ``test_accuracy``, ``val_accuracy`` and ``members`` (per split, how
        often each counts).

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=100, num_classes=3, heterophily=0.1)
        >>> summary = train_auto(data, Config().replace(epochs=5))
        >>> len(summary["members"]), list(summary["picked"])
        (7, ['0'])
    """
    check_graph(data)
    config = resolve_defaults(data, config or Config())
    find_device(config.train.device)
    for split in splits:
        check_graph(select_split(data, split), split_required=True)
    members = portfolio(data, config) if members is None else members
    _check_members(members)
    members = [
        dataclasses.replace(member, config=resolve_defaults(data, member.config))
        for member in members
    ]
    header = {
        "graph": graph,
        "variant": data.get("variant", ""),
        "model": "auto",
        "config": config.to_dict(),
    }
    with locked_folder(out):
        folder = None
        if out is not None:
            described = [_describe(member) for member in members]
            about = {**header, "ensemble": ensemble, "members": described}
            folder = RunFolder(Path(out), about, data, source)
        return _train_auto(data, header, splits, folder, callback, ensemble, members)


def _train_auto(
    data: Data,
    header: dict[str, Any],
    splits: Sequence[int],
    folder: RunFolder | None,
    callback: Callback | None,
    ensemble: bool,
    members: Sequence[Member],
) -> dict[str, Any]:
    finished: dict[str, dict[str, Any]] = dict(folder.records) if folder is not None else {}
    interrupted = False
    kept = [split for split in splits if str(split) in finished]
    for done, split in enumerate(kept, 1):
        notify_split(callback, split, finished[str(split)], done, len(splits))
    try:
        missing = [split for split in dict.fromkeys(splits) if str(split) not in finished]
        graphs = PreparedGraphs(data)
        for done, split in enumerate(missing, len(kept) + 1):
            run = PortfolioRun(graphs, split, callback)
            run.run(members)
            metrics = finished[str(split)] = run.metrics(ensemble)
            if folder is not None:
                folder.add(split, metrics, saved_split(run.trained, metrics))
            notify_split(callback, split, metrics, done, len(splits))
    except KeyboardInterrupt:
        if not any(str(split) in finished for split in splits):
            raise
        interrupted = True
    chosen = {str(split): finished[str(split)] for split in splits if str(split) in finished}
    titles = {
        member.name: model_title(member.model, resolve(data, member.config)) for member in members
    }
    summary = {
        **header,
        "title": "auto",
        **_summarise(chosen, members, titles),
        "interrupted": interrupted,
    }
    if folder is not None and not interrupted:
        folder.finish({key: value for key, value in summary.items() if key != "splits"})
    return summary


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


def _summarise(
    chosen: dict[str, dict[str, Any]], members: Sequence[Member], titles: dict[str, str]
) -> dict[str, Any]:
    summary: dict[str, Any] = {
        key: spread([entry[key] for entry in chosen.values()])
        for key in ("test_accuracy", "val_accuracy")
    }
    summary.update(ranking_spreads(list(chosen.values())))
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
                "title": titles[member.name],
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
