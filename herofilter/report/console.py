"""Results as tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from herofilter.memory import format_bytes
from herofilter.report.interval import points

# the progress of predict and explain needs none of these
if TYPE_CHECKING:
    from herofilter.data import DatasetInfo
    from herofilter.measures import DataCard
    from herofilter.nn.registry import ModelEntry

# by their titles in the table of a run; a measure that isn't known for all splits isn't shown
_MEASURES = {
    "validation": "val_accuracy",
    "test": "test_accuracy",
    "test AUC": "test_auc",
    "test AP": "test_average_precision",
}


def percent(entry: dict[str, Any]) -> str:
    """Return ``mean ± std`` of an accuracy in percent."""
    return f"{100 * entry['mean']:.1f} ± {100 * entry['std']:.1f}"


def demo_table(result: dict[str, Any]) -> Table:
    """Return the demo's table: one row per level of heterophily."""
    table = Table(title="Test accuracy (%) on synthetic graphs, mean ± std over splits")
    for title in (
        "hetero-\nphily",
        "MLP",
        "GCN",
        "HeroFilter",
        "edge\nhomophily",
        "patch\nhomophily",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    for level in result["levels"]:
        table.add_row(
            f"{level['heterophily']:.1f}",
            *(percent(level["accuracy"][name]) for name in ("mlp", "gcn", "herofilter")),
            f"{level['edge_homophily']:.2f}",
            f"{level['patch_homophily']:.2f}",
        )
    return table


def train_table(summary: dict[str, Any]) -> Table:
    """Return a run's accuracy, AUC and average precision per split and over all of them."""
    table = Table(title=f"{summary['title']} on {summary['graph']}")
    picked = summary.get("picked", {})
    titles = {member["name"]: member["title"] for member in summary.get("members", ())}
    measures = {title: summary.get(key) for title, key in _MEASURES.items()}
    shown = {title: entry for title, entry in measures.items() if entry is not None}
    for title in ("split", *shown, *["picked"] * bool(picked)):
        table.add_column(title, justify="right")
    for number, split in enumerate(summary["splits"]):
        name = picked.get(str(split))
        member = [f"{name} ({titles[name]})"] if name else []
        values = (entry["values"][number] for entry in shown.values())
        table.add_row(str(split), *(f"{100 * value:.1f}" for value in values), *member)
    table.add_section()
    table.add_row("mean ± std", *(percent(entry) for entry in shown.values()))
    return table


def compared_table(summary: dict[str, Any]) -> Table:
    """Return the models that were trained beside a run's own, with differences split by split."""
    table = Table(title="Beside it on the same splits, with recommended settings (%)")
    titles = ("model", "test", f"{summary['title']} is above by", "better on")
    for title in titles:
        table.add_column(title, justify="left" if title == "model" else "right")
    known = dict(zip(summary["splits"], summary["test_accuracy"]["values"], strict=True))
    for entry in summary["compared"].values():
        pairs = zip(entry["splits"], entry["test_accuracy"]["values"], strict=True)
        found = [known[split] - value for split, value in pairs if split in known]
        better = f"{sum(value > 0 for value in found)} of {len(found)}"
        table.add_row(entry["title"], percent(entry["test_accuracy"]), points(found), better)
    return table


_SHOWN = {
    "accuracy": "accuracy",
    "balanced": "balanced_accuracy",
    "F1": "macro_f1",
    "AUC": "auc",
}


def fit_table(metrics: dict[str, Any]) -> Table:
    """Return the models that fit compared, one row each, the kept one marked."""
    table = Table(
        title="What the models reach (%)",
        caption="* stopped by the clock" if metrics["unfinished"] else None,
        show_edge=False,
        pad_edge=False,
    )
    metric = metrics["metric"]
    first = {"balanced": "balanced_accuracy", "f1": "macro_f1", "ap": "average_precision"}
    key = first.get(metric, metric)
    table.add_column("model", overflow="fold")
    for title in (f"validation\n{metric}", *(f"test\n{name}" for name in _SHOWN), "runs"):
        table.add_column(title, justify="right")
    for name, entry in metrics["models"].items():
        mark = "" if entry["finished"] else " *"
        title = f"{entry['title']}{mark}"
        style = "bold" if name == metrics["kept"] else None
        values = (entry["validation"][key], *(entry["test"][part] for part in _SHOWN.values()))
        cells = ["" if value is None else f"{100 * value:.1f}" for value in values]
        kept = f"{title} (kept)" if name == metrics["kept"] else title
        table.add_row(kept, *cells, str(entry["trials"]), style=style)
    return table


def dataset_table(datasets: list[tuple[DatasetInfo, bool]]) -> Table:
    """Return the known datasets and whether each is on disk."""
    table = Table(title="Datasets")
    for title in ("name", "splits", "variant", "on disk", "what it is"):
        # users type these names, so a narrow terminal must not cut them
        table.add_column(title, no_wrap=title == "name", overflow="fold")
    for info, there in datasets:
        table.add_row(
            info.name,
            str(info.num_splits),
            info.variant,
            "yes" if there else "no",
            info.description,
        )
    return table


def model_table(models: list[ModelEntry]) -> Table:
    """Return the registered models: paper, memory, whether it scales, and options."""
    table = Table(
        title="Models",
        caption="options are set with --set, such as --set hops=5",
        # without edges the texts have room on a terminal of 80 columns
        show_edge=False,
        pad_edge=False,
    )
    for title in ("name", "paper", "holds in memory", "scales", "mini-\nbatch", "options"):
        table.add_column(title, no_wrap=title not in ("paper", "holds in memory"))
    for entry in models:
        table.add_row(
            entry.name,
            entry.paper,
            entry.needs,
            "yes" if entry.scales else "no",
            "yes" if entry.batches else "no",
            "\n".join(entry.options),
        )
    return table


def card_table(card: DataCard) -> Table:
    """Return a data card as a table of two columns."""
    table = Table(title=f"Data card: {card.name}", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    values = card.to_dict()
    names = values.pop("classes")
    for key, value in values.items():
        if key == "class_counts" and names:
            value = [f"{name}: {count}" for name, count in zip(names, value, strict=True)]
        if key != "name":
            table.add_row(key.replace("_", " "), Text(_text(key, value)))
    return table


def _text(key: str, value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_text(name, entry)}" for name, entry in value.items())
    if isinstance(value, list):
        separator = "\n" if any(isinstance(entry, dict) for entry in value) else ", "
        return separator.join(_text(key, entry) for entry in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key == "needed" and isinstance(value, int):
        return format_bytes(value)
    if isinstance(value, float):
        return f"{value:.4f}"
    return "none" if value is None else str(value)
