"""The page of the accuracy benchmark, in Markdown."""

from collections.abc import Callable, Sequence
from typing import Any

from herofilter.config import Config
from herofilter.report.accuracy_table import DASH, titled_cell, unfinished
from herofilter.report.console import percent

Entry = dict[str, Any]


def results_page(result: dict[str, Any]) -> str:
    """Return the page for the result of :func:`~herofilter.reproduce.accuracy.run_accuracy`."""
    blocks = [
        "# Results",
        f"This page is written by `{result['command']}`, together with `accuracy.json`, which has "
        "the same numbers and more. Don't edit it by hand: run the command again.",
        "## Accuracy",
        "Test accuracy in percent, mean ± standard deviation over seeds and splits. A dash: the "
        "graph has no such preset, the paper no such number, or nothing is trained yet.",
        _accuracy(result),
        _unfinished(result),
        "Below an accuracy is what the model is with the settings of that column and graph, as "
        "[choose-a-model.md](choose-a-model.md#what-may-be-called-herofilter) defines it: "
        "“HeroFilter” has a learned filter, patches of at least five nodes and a mixer.",
        "“Paper” is the row “HeroFilter (Ours)” of the paper's Tables 1 and 2, which have no row "
        "for Fast-HeroFilter.",
        _directed(result),
        "## 95 % intervals",
        "The t-interval of the mean over splits. Where there are several seeds, they are averaged "
        "within each split first, because the seeds of a split share its nodes. The splits of a "
        "graph overlap, too, so read an interval as a guide and not as a test.",
        _table(result, _interval),
        "## Seconds per split",
        f"{_timing(result)} A split counts patches and training. The eigenvectors of a graph are "
        "made once and kept: only the split that makes them carries their time, and none does when "
        "they were there before.",
        _table(result, _seconds),
        "## Validation accuracy",
        "In percent, mean over seeds and splits. The tuned settings were chosen by it.",
        _table(result, _validation),
        "## Settings",
        "How each preset differs from the default configuration; `accuracy.json` has all settings.",
        _settings(result),
        "## Protocol",
        *_protocol(result),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _unfinished(result: Entry) -> str:
    lines = unfinished(result)
    if not lines:
        return ""
    return "Not finished, so on fewer splits than the others: " + "; ".join(lines) + "."


def _accuracy(result: Entry) -> str:
    rows = [
        [
            graph,
            DASH if row["paper"] is None else percent(row["paper"]),
            *(titled_cell(row["columns"][column], "<br>") for column in result["columns"]),
        ]
        for graph, row in result["graphs"].items()
    ]
    return _markdown(["graph", "paper", *result["columns"].values()], rows)


def _table(result: Entry, cell: Callable[[Entry], str]) -> str:
    rows = [
        [
            graph,
            *(
                DASH if row["columns"][column] is None else cell(row["columns"][column])
                for column in result["columns"]
            ),
        ]
        for graph, row in result["graphs"].items()
    ]
    return _markdown(["graph", *result["columns"].values()], rows)


def _markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _interval(entry: Entry) -> str:
    if entry["interval"] is None:
        return DASH
    low, high = (100 * end for end in entry["interval"])
    return f"{low:.1f} to {high:.1f}"


def _seconds(entry: Entry) -> str:
    return f"{entry['seconds']:.1f}"


def _validation(entry: Entry) -> str:
    return f"{100 * entry['val_accuracy']['mean']:.1f}"


def _directed(result: Entry) -> str:
    if "tuned-directed" not in result["columns"]:
        return ""
    return (
        "The last column follows the direction of edges, which the paper leaves out; so do the "
        "default settings on a directed graph. Its values never replace those of the others."
    )


def _timing(result: Entry) -> str:
    workers, cores = (" or ".join(map(str, result[key])) for key in ("workers", "cores"))
    if not workers:
        return ""
    return (
        f"Measured while {workers} trainings ran at the same time, each on one thread, on {cores} "
        "cores: for comparing columns, not for judging the speed of a machine."
    )


def _settings(result: Entry) -> str:
    lines = []
    for graph, row in result["graphs"].items():
        for column, title in result["columns"].items():
            entry = row["columns"][column]
            if entry is None or entry["preset"] == "default":
                continue
            changed = " ".join(
                f"{key}={_text(value)}" for key, value in sorted(entry["changed"].items())
            )
            what = f"`{changed}`" if changed else "the default configuration"
            lines.append(f"- **{graph}**, {title} ({entry['title']}): {what}")
    return "\n".join(lines) or "None of the graphs has a preset yet."


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _earlier_default(result: Entry) -> str:
    """Return a sentence if the default column was measured with settings of an earlier version."""
    usual = Config().to_dict()
    columns = (row["columns"].get("default") for row in result["graphs"].values())
    saved = [column["config"] for column in columns if column]
    same = all(
        usual[section].get(key) == value
        for config in saved
        for section, values in config.items()
        for key, value in values.items()
    )
    return "" if same else "Its settings have changed since these were measured. "


def _protocol(result: Entry) -> list[str]:
    graphs = result["graphs"]
    splits = len(result["splits"])
    variants = ", ".join(dict.fromkeys(row["variant"] for row in graphs.values()))
    repeated = [graph for graph, row in graphs.items() if len(row["seeds"]) > 1]
    seeds = "Seed 0 of weights, dropout and batches"
    if repeated:
        seeds += f"; seeds 0, 1 and 2 on {', '.join(repeated)}, whose test sets are tiny"
    points = [
        f"Splits: {variants}; {splits} of each graph, the same for every column.",
        f"{seeds}.",
        "Training labels drive the weights, validation labels choose the epoch, and test labels "
        "are read once, at the end.",
        "MLP, GCN and the default column use the default configuration. "
        f"{_earlier_default(result)}"
        "Settings of the tuned columns were chosen per graph, by validation accuracy averaged over "
        "splits. Validation nodes of one split are test nodes of others, so with ten splits the "
        "labels of nearly all test nodes took part in the choice, as validation labels of another "
        "split: tuned columns are flattered by that, the others aren't. `herofilter bench "
        "heterophilic` lets every split choose for itself on graphs of up to 3000 nodes. Each "
        "preset is in `herofilter/presets/GRAPH.yaml`, with the command of the study that found "
        "it, its number of trials and its validation accuracy. "
        "MLP and GCN weren't tuned, so compare them with the default column.",
        "Every training runs on one thread, so the accuracies don't depend on the number of "
        "workers.",
    ]
    flawed = [graph for graph in ("chameleon", "squirrel") if graph in graphs]
    if flawed:
        verb = "hold" if len(flawed) > 1 else "holds"
        points.append(
            f"Known flaw: {' and '.join(flawed)} {verb} duplicate nodes, some in training and some "
            "in the test set (Platonov et al., “A critical look at the evaluation of GNNs under "
            "heterophily: are we really making progress?”, ICLR 2023), which flatters models that "
            "recognise a node."
        )
    return [
        "\n".join(f"- {point}" for point in points),
        _environment(result),
        "The commands: all of it (it can be stopped and continued, as finished trainings are "
        "kept), one column of one graph, and a study that makes a preset.",
        "\n".join(
            f"    {line}"
            for line in (
                result["command"],
                "herofilter train texas --preset tuned-fast --splits all --seed 0",
                "herofilter tune texas --as tuned-fast --set patcher=fast",
            )
        ),
    ]


def _environment(result: Entry) -> str:
    lines = [
        f"Python {entry['python']}, torch {entry['packages']['torch']}, herofilter "
        f"{entry['packages']['herofilter']}; {entry['cores']} cores, {entry['memory_gib']} GiB"
        for entry in result["environments"]
    ]
    return f"Made with {'; also '.join(lines)}." if lines else ""
