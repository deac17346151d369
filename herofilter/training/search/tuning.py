"""Tuning: a search for the settings with the best validation accuracy on a graph."""

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.config import Config, from_earlier
from herofilter.data import check_graph, num_splits, select_split
from herofilter.devices import find_device
from herofilter.errors import ConfigError
from herofilter.files import read_yaml, write_json
from herofilter.folders import locked_folder
from herofilter.nn import find_model
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.training.artifacts.environment import environment
from herofilter.training.artifacts.graph_reference import GraphSource
from herofilter.training.protocol import train_splits
from herofilter.training.search.presets import GENERAL, graph_name, write_preset
from herofilter.training.search.session import Search
from herofilter.training.search.space import SearchSpace, changed_settings, make_space
from herofilter.training.search.study import STATES, open_study, trial_record
from herofilter.training.split_metrics import spread


def tune(
    data: Data,
    graph: str,
    *,
    model: str = "herofilter",
    space: str = "wide",
    budget: float | None = None,
    trials: int | None = None,
    splits: Sequence[int] | None = None,
    seed: int = 0,
    out: str | Path,
    fixed: Sequence[str] = (),
    seeds: Sequence[int] = (0,),
    preset: str = "tuned",
    finalists: int = 0,
    callback: Callback | None = None,
    source: GraphSource | None = None,
) -> dict[str, Any]:
    """Search for the settings of a model that are best on the validation nodes of a graph.

    The first trial is the default configuration. The search never sees a test label; once it is
    over, the best configuration is trained and tested once. The folder holds the study, which
    the same call continues, ``trials.json``, ``preset.yaml``, ``tune.json`` and the run of the
    best configuration. Ctrl-C keeps the finished trials.

    Args:
        data: a graph with masks.
        graph: its name, or the path of its file.
        model: a registered model.
        space: ``wide``, or ``paper`` for the paper's grid.
        budget: seconds after which no trial is started; one that runs on is stopped once the
            budget is exceeded by a fifth.
        trials: how many trials there are to be at most, earlier sessions included.
        splits: the splits to average over; all by default.
        seed: of the search.
        out: the folder.
        fixed: ``key=value`` settings that aren't searched.
        seeds: of weights, dropout and batches; more than one are averaged over.
        preset: the preset's name in ``preset.yaml``.
        finalists: how many of the best trials are trained with two further seeds before the
            choice is made among them and the default; 0 takes the best trial as it is.
        callback: takes an event of stage ``trial`` after every trial.
        source: where the graph was loaded from, so that the run folder needs no copy of it.

    Returns:
        What ``tune.json`` holds: ``config``, ``changed``, ``val_accuracy``, ``test_accuracy``,
        ``best_trial``, ``trials`` by state, ``seconds``, ``command`` and more.
    """
    find_model(model)
    out, name = Path(out), graph_name(graph)
    _check_limits(budget, trials, preset, seeds, finalists)
    chosen = list(range(num_splits(data))) if splits is None else list(splits)
    if splits is not None and not chosen:
        raise ConfigError("splits must name at least one split (got none)")
    for split in chosen or [0]:
        selected = select_split(data, split)
    check_graph(selected, split_required=True)
    options = make_space(space, model, data, fixed)
    find_device(options.base.train.device)
    header = {
        "graph": name,
        "variant": data.get("variant", ""),
        "model": model,
        "space": space,
        "splits": chosen,
        "seeds": list(seeds),
        "seed": seed,
        "fixed": sorted(fixed),
        "config": options.base.to_dict(),
    }
    with locked_folder(out):
        return _search(
            data,
            graph,
            options,
            header,
            budget,
            trials,
            splits,
            finalists,
            preset,
            out,
            callback,
            source,
        )


def _search(
    data: Data,
    graph: str,
    options: SearchSpace,
    header: dict[str, Any],
    budget: float | None,
    trials: int | None,
    splits: Sequence[int] | None,
    finalists: int,
    preset: str,
    out: Path,
    callback: Callback | None,
    source: GraphSource | None,
) -> dict[str, Any]:
    name, model, space = header["graph"], header["model"], header["space"]
    chosen, seeds, seed = header["splits"], header["seeds"], header["seed"]
    with open_study(out, header) as study:
        search = Search(study, options, chosen, seeds, seed, budget, trials, callback)
        try:
            search.run()
            search.run_finals(finalists, [max(seeds) + 1, max(seeds) + 2])
        finally:
            records = [trial_record(trial) for trial in study.get_trials()]
            write_json(out / "trials.json", records)
        best, default = search.best(finalists > 0), search.default_accuracy()
    config = options.config(best["settings"])
    states = Counter(record["state"] for record in records)
    counts = {state: states[state] for state in STATES.values()}
    # a study that was continued has more trials than this session asked for
    number = None if trials is None else max(trials, sum(counts.values()))
    summary = {
        **{key: header[key] for key in ("graph", "variant", "model", "space", "splits", "seeds")},
        "command": _command(graph, header, budget, number, splits, preset, finalists),
        "budget": budget,
        "trials": counts,
        "best_trial": best["number"],
        "default_val_accuracy": default,
        "changed": changed_settings(config, resolve_defaults(data, Config())),
        "config": config.to_dict(),
        "finalists": finalists,
        "val_accuracy": spread([r["val_accuracy"] for r in [*best["runs"], *best["finals"]]]),
        "seconds": round(sum(record["seconds"] or 0.0 for record in records), 1),
    }
    origin = {
        "command": summary["command"],
        "space": space,
        "trials": sum(counts.values()),
        **counts,
        "seconds": summary["seconds"],
        "val_accuracy": best["val_accuracy"],
        "splits": len(chosen),
        "seeds": len(seeds),
        "finalists": finalists,
    }
    write_preset(out / "preset.yaml", name, preset, model, config, origin)
    summary["test_accuracy"] = _test(data, name, model, config, header, out / "run", source)
    summary["environment"] = environment()
    write_json(out / "tune.json", summary)
    return summary


def _test(
    data: Data,
    name: str,
    model: str,
    config: Config,
    header: dict[str, Any],
    out: Path,
    source: GraphSource | None,
) -> dict[str, Any]:
    """Train the chosen configuration anew, with test scores, into the run folder."""
    values = []
    for seed in header["seeds"]:
        folder = out if len(header["seeds"]) == 1 else out / f"seed-{seed}"
        seeded = config.replace(seed=seed)
        if (folder / "config.yaml").exists():
            held = read_yaml(folder / "config.yaml")
            if from_earlier(held["config"]) != seeded.to_dict():
                # an earlier session of this search chose otherwise
                shutil.rmtree(folder)
        summary = train_splits(data, model, seeded, header["splits"], name, folder, source=source)
        if summary["interrupted"]:
            raise KeyboardInterrupt
        values += summary["test_accuracy"]["values"]
    return spread(values)


def _check_limits(
    budget: float | None, trials: int | None, preset: str, seeds: Sequence[int], finalists: int
) -> None:
    if budget is None and trials is None:
        raise ConfigError("a search must have a budget or a number of trials (got neither)")
    if budget is not None and not budget > 0:
        raise ConfigError(f"budget must be above 0 seconds (got {budget:g})")
    if trials is not None and trials < 1:
        raise ConfigError(f"trials must be at least 1 (got {trials})")
    if finalists < 0:
        raise ConfigError(f"finalists must be at least 0 (got {finalists})")
    if not seeds:
        raise ConfigError("seeds must hold at least one seed (got none)")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", preset) or preset in GENERAL:
        raise ConfigError(
            "a preset's name must consist of small letters, digits and hyphens, and be neither "
            f"default nor paper (got {preset!r})"
        )


def _command(
    graph: str,
    header: dict[str, Any],
    budget: float | None,
    trials: int | None,
    splits: Sequence[int] | None,
    preset: str,
    finalists: int,
) -> str:
    """Return the command that repeats a search."""
    parts = ["herofilter", "tune", graph]
    if budget is not None:
        parts += ["--budget", f"{budget:g}s"]
    if trials is not None:
        parts += ["--trials", str(trials)]
    if splits is not None:
        parts += ["--splits", ",".join(map(str, splits))]
    for key, usual in (("model", "herofilter"), ("space", "wide"), ("seed", 0)):
        if header[key] != usual:
            parts += [f"--{key}", str(header[key])]
    for setting in header["fixed"]:
        parts += ["--set", setting]
    if finalists:
        parts += ["--finalists", str(finalists)]
    if preset != "tuned":
        parts += ["--as", preset]
    return shlex.join(parts)
