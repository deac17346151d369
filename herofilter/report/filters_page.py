"""The page of the filter study, in Markdown; its verdicts are computed from the results."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from herofilter.report.console import percent
from herofilter.reproduce.comparison import LOSES, NEITHER, WINS, Comparison, compare

Entry = dict[str, Any]

REFERENCE = "learned"
COUNTERPARTS = (("learned", "fixed"), ("no-summary-learned", "no-summary-fixed"))
PAIRS = (COUNTERPARTS[0], ("learned", "ppr"), *COUNTERPARTS[1:])


def filters_page(result: dict[str, Any]) -> str:
    """Return the page for the result of :func:`~herofilter.reproduce.filters.run_filters`."""
    blocks = [
        "# Is a learned filter better than a fixed one?",
        f"This page is written by `{result['command']}`, together with `filters.json`, which has "
        "the same numbers and more. Don't edit it by hand: run the command again.",
        "HeroFilter's patcher learns a spectral filter. Is that better than the same filter left "
        "at its start, or than the fixed personalised PageRank of the fast patcher? Here each "
        "variant changes the one thing that its row names; everything else is the default "
        f"configuration with `{' '.join(result['base'])}`, untuned, seed 0. Graphs are taken "
        "without directions.",
        "Choices are made on validation accuracy, and the verdicts below use nothing else. "
        "Validation accuracy also chose the epoch of each training, so it flatters every variant a "
        "little. The test table is for the record: no choice rests on it.",
        "## Variants",
        _variants(result),
        "## Graphs",
        _graphs(result),
        "## What the numbers say",
        *_findings(result),
        "## Validation accuracy",
        "In percent, mean ± standard deviation over splits.",
        _table(result, lambda entry: _accuracy(entry["val_accuracy"])),
        "## Test accuracy",
        "For the record, in percent, mean ± standard deviation over splits.",
        _table(result, lambda entry: _accuracy(entry["test_accuracy"])),
        "## Patch homophily",
        "The share of a patch's members, the node itself left out, that have its label: after "
        "training, over all nodes, mean over splits; 0 without a patch. All labels are used to "
        "measure it, none to choose by it.",
        _table(result, lambda entry: f"{entry['patch_homophily']['mean']:.3f}"),
        "## How far the filter moved",
        "The mean absolute change of the response g from its start to the epoch that was kept, "
        "over the graph's eigenvalues (beyond 4000 nodes over [-1, 1]), in percent of the start's "
        "largest modulus; mean over filters and splits. 0 for a filter that doesn't learn.",
        _table(result, lambda entry: f"{100 * entry['movement']['mean']:.1f}"),
        "## Seconds per split",
        _timing(result),
        _table(result, lambda entry: f"{entry['seconds']:.1f}"),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def comparisons(result: dict[str, Any]) -> list[Comparison]:
    """Return each pair on each graph: the named pairs first, then the others with the reference."""
    known = result["variants"]
    others = ((name, REFERENCE) for name in known if name not in ("fixed", "ppr", REFERENCE))
    return [
        _compare(row["variants"], first, second, graph)
        for first, second in (*PAIRS, *others)
        if first in known and second in known
        for graph, row in result["graphs"].items()
    ]


def verdicts(result: dict[str, Any]) -> list[str]:
    """Return one sentence per pair: where the first wins, where it loses, and where neither."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for entry in comparisons(result):
        groups.setdefault((entry.first, entry.second), []).append(entry)
    return [
        f"{first} against {second}: {_sentence(entries)}"
        for (first, second), entries in groups.items()
    ]


def _compare(variants: Entry, first: str, second: str, graph: str) -> Comparison:
    one, other = (variants[name]["val_accuracy"]["values"] for name in (first, second))
    return compare(first, second, graph, one, other)


def _sentence(entries: Sequence[Comparison]) -> str:
    parts = []
    for verdict in (WINS, LOSES, NEITHER):
        found = [str(entry) for entry in entries if entry.verdict == verdict]
        if found:
            parts.append(f"{verdict} on {', '.join(found)}")
    return "; ".join(parts) + "."


def _findings(result: Entry) -> list[str]:
    entries = comparisons(result)
    if not entries:
        return ["Nothing: no two of these variants are compared with each other."]
    pairs = [entry for entry in entries if (entry.first, entry.second) in COUNTERPARTS]
    named = sum(entry.verdict != NEITHER for entry in entries)
    expected = sum(entry.chance for entry in entries)
    return [
        _headline(pairs),
        "In brackets: the mean over splits of the paired difference in validation accuracy, first "
        "variant minus second, in points, ± its standard error. The verdict follows a rule: the "
        f"first “{WINS}” or “{LOSES}” if zero is outside the 95 % interval of the difference (t, "
        f"over splits); else there is “{NEITHER}”.",
        "\n".join(f"- {line}" for line in verdicts(result)),
        f"The rule named a winner in {named} of {len(entries)} comparisons; if no variant differed "
        f"from any other, it would still do so in about {expected:.0f} if splits were independent, "
        "and as those of a graph overlap, in rather more. A single win or loss therefore says "
        "little; look for the same sign on several graphs.",
    ]


def _headline(pairs: Sequence[Comparison]) -> str:
    if not pairs:
        return ""
    wins, losses = (sum(entry.verdict == kind for entry in pairs) for kind in (WINS, LOSES))
    mean = 100 * statistics.fmean(entry.difference for entry in pairs)
    return (
        "Compared with the same model with fixed filters, the learned filter wins "
        f"{wins} and loses {losses} of {len(pairs)} comparisons; in {len(pairs) - wins - losses} "
        f"there is {NEITHER}. The mean "
        f"difference over them is {mean:+.1f} points of validation accuracy."
    )


def _variants(result: Entry) -> str:
    rows = [
        [
            f"`{name}`",
            entry["title"],
            f"`{' '.join(entry['settings'])}`" if entry["settings"] else "–",
            entry["asks"],
        ]
        for name, entry in result["variants"].items()
    ]
    return _markdown(["variant", "what it is", "settings", "what it asks"], rows, "---")


def _graphs(result: Entry) -> str:
    lines = []
    for graph, row in result["graphs"].items():
        count = len(row["splits"])
        splits = f"{count} split{'s' if count > 1 else ''}"
        lines.append(f"- **{graph}**: {row['why']}; {splits}. Data: {row['variant']}.")
    return "\n".join(lines)


def _table(result: Entry, cell: Callable[[Entry], str]) -> str:
    rows = [
        [f"`{name}`", *(cell(row["variants"][name]) for row in result["graphs"].values())]
        for name in result["variants"]
    ]
    return _markdown(["variant", *result["graphs"]], rows, "---:")


def _markdown(titles: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    lines = [titles, ["---", *[align] * (len(titles) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _accuracy(entry: Entry) -> str:
    return percent(entry) if len(entry["values"]) > 1 else f"{100 * entry['mean']:.1f}"


def _timing(result: Entry) -> str:
    workers, cores = (" or ".join(map(str, result[key])) for key in ("workers", "cores"))
    return (
        f"Patches and training. Measured with {workers} at the same time, each on one thread, on "
        f"{cores} cores: for comparing variants, not for judging a machine. The eigenvectors of a "
        "graph are made once and kept, so only the first that needs them carries their time."
    )
