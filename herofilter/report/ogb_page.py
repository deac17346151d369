"""A submission to an OGB leaderboard as Markdown."""

from collections.abc import Mapping
from typing import Any

import yaml

from herofilter.report.interval import count


def ogb_page(result: Mapping[str, Any]) -> str:
    """Return what the form of an OGB leaderboard asks for, in its order.

    Args:
        result: what :func:`~herofilter.reproduce.ogb.run_ogb` returned.
    """
    split = result["variant"] or "its first split"
    if not result["official"]:
        split += ", which is no task of OGB's: this isn't a submission, but has its form"
    packages = result["environments"][-1]["packages"]
    versions = ", ".join(f"{name} {version}" for name, version in packages.items())
    seeds = result["seeds"]
    rows = {
        "Dataset": result["graph"],
        "Split": split,
        "Method": result["title"],
        "Test accuracy": _mean_and_std(result["test_accuracy"]),
        "Validation accuracy": _mean_and_std(result["val_accuracy"]),
        "Number of parameters": f"{result['parameters']:,}",
        "Seeds": ", ".join(map(str, seeds)),
        "Hardware": result["hardware"],
        "External data": "none",
        "Versions": f"{versions}, Python {result['environments'][-1]['python']}",
        "Training time": f"{result['seconds']:.0f} s for all {len(seeds)} seeds",
    }
    table = "\n".join(
        f"| {name} | {str(value).replace('|', '/')} |" for name, value in rows.items()
    )
    values = "\n".join(
        f"| {seed} | {test:.4f} | {val:.4f} |"
        for seed, test, val in zip(
            seeds,
            result["test_accuracy"]["values"],
            result["val_accuracy"]["values"],
            strict=True,
        )
    )
    settings = yaml.safe_dump(result["config"], sort_keys=False)
    return (
        f"# {result['title']} on {result['graph']}\n\n"
        f"Mean and unbiased standard deviation over {count(len(seeds), 'seed')}; validation chose "
        "the epoch, and test labels were read once per seed.\n\n"
        f"| what | value |\n|---|---|\n{table}\n\n"
        "Still to be given with a submission: a contact, and links to the code and the paper.\n\n"
        f"## Command\n\n    {result['command']}\n\n"
        "## Seeds\n\n| seed | test accuracy | validation accuracy |\n|---:|---:|---:|\n"
        f"{values}\n\n"
        f"## Settings\n\n```yaml\n{settings}```\n"
    )


def _mean_and_std(found: Mapping[str, Any]) -> str:
    return f"{found['mean']:.4f} ± {found['std']:.4f}"
