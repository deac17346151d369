"""What the pages of the tables say of the protocol: how settings were chosen, and which."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

MOST_CHOICES = 3

Entry = dict[str, Any]


def protocol_points(result: Entry) -> str:
    """Return the protocol as a list: settings, names, search, and the choice on each graph."""
    protocol = " ".join(f"{key}={value}" for key, value in result["protocol"].items())
    points = [
        f"Settings of every model where it isn't searched: `{protocol}` (Adam; `num_layers` counts "
        "HeroFilter's stem and its mixer blocks). Where a graph is judged by ROC AUC, training "
        "stops by it, too. Baselines see graphs without directions, as the paper's do; rows that "
        "keep them aren't ranked.",
        "A row is called HeroFilter only if it has a learned filter, patches of at least five "
        "nodes and a mixer block, whatever is chosen. “Algorithm 1 to the letter” has the "
        "settings of `--preset paper` where they aren't searched, and beyond 6000 nodes the 500 "
        "eigenvalues of largest modulus.",
        f"Search: {result['trials']} trials for every model; the hyperparameters of the first four "
        "are the same for all, the others are suggested by Optuna's TPE sampler from one space "
        "(rate, decay, dropouts, scaling) and the options of the model. HeroFilter has no more "
        "trials than any other.",
        *_choices(result),
        "Seed 0 of weights, dropout and batches.",
        "Every finished training is a line of `trainings.jsonl` with settings, their hash, seed, "
        "versions and numbers.",
    ]
    return "\n".join(f"- {point}" for point in points)


def _choices(result: Entry) -> list[str]:
    """Return how settings were chosen, for each graph."""
    graphs = {graph: entry for graph, entry in result["graphs"].items() if not entry["why"]}
    nested = [graph for graph, entry in graphs.items() if entry["nested"]]
    shared = [
        f"{graph} (split{'s' if len(entry['search_splits']) > 1 else ''} "
        f"{', '.join(map(str, entry['search_splits']))})"
        for graph, entry in graphs.items()
        if not entry["nested"]
    ]
    points = []
    if nested:
        points.append(
            f"{', '.join(nested)}: every split chooses its own settings, by its own validation "
            "nodes only. Its result is the test score of the very training that was chosen; the "
            "test scores of the other trials are recorded and read by nobody."
        )
    if shared:
        points.append(
            f"{', '.join(shared)}: a trial is judged by the mean over the validation nodes of the "
            "search splits named, and the best is trained on all splits. Validation nodes of one "
            "split are test nodes of others, so here labels of test nodes took part in the choice, "
            "as validation labels of another split."
        )
    return points


def chosen_settings(result: Entry) -> str:
    """Return a line per row: what was chosen on each graph, and by how many splits."""
    lines = []
    for row in result["rows"]:
        parts = [
            f"{graph} {_chosen(cell['choices'])}"
            for graph, entry in result["graphs"].items()
            if "choices" in (cell := entry["rows"][row])
        ]
        if parts:
            lines.append(f"- **{result['titles'][row]}**: {'; '.join(parts)}")
    return "\n".join(lines) or "None yet."


def _chosen(choices: Sequence[Entry]) -> str:
    count: Counter[str] = Counter()
    for choice in choices:
        text = " ".join(f"{key}={value}" for key, value in sorted(choice["settings"].items()))
        count[f"`{text}`" if text else "the first trial"] += len(choice["splits"])
    shown = [f"{text} ({times})" for text, times in count.most_common(MOST_CHOICES)]
    others = sum(count.values()) - sum(times for _, times in count.most_common(MOST_CHOICES))
    return ", ".join([*shown, *[f"others ({others})"] * bool(others)])


def shown_graphs(result: dict[str, Any]) -> list[str]:
    """Return the graphs that could be measured."""
    return [graph for graph, entry in result["graphs"].items() if not entry["why"]]
