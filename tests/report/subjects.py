"""Subjects of reports without a training: predictions are made up."""

from dataclasses import replace
from typing import Any

import torch

from herofilter.data import csbm, select_split
from herofilter.measures import data_card
from herofilter.patchers import PolynomialPatcher
from herofilter.report.subject import Curves, Record, Subject

HOSTILE = "<script>window.hacked = 1</script>"
CLASSES = ("ai", "<b>bold</b>", '"><img src=x onerror="window.hacked = 2">')


def history(epochs: int = 12, best: int = 7) -> list[dict[str, Any]]:
    return [
        {
            "epoch": number,
            "train_loss": 1 / (number + 1),
            "val_loss": 0.5 + 0.05 * abs(number - best),
            "val_accuracy": 0.8 - 0.01 * abs(number - best),
        }
        for number in range(epochs)
    ]


def made_up(
    num_nodes: int = 120, wrong: float = 0.2, classes: tuple[str, ...] = CLASSES, **record: Any
) -> Subject:
    """Return a subject whose predictions are right but for every so many nodes."""
    data = select_split(csbm(num_nodes=num_nodes, num_classes=3, heterophily=0.8), 0)
    patcher = PolynomialPatcher(data, patch_size=8, starts=("low", "hop2"))
    predicted = data.y.clone()
    step = max(1, round(1 / wrong)) if wrong else num_nodes + 1
    predicted[::step] = (predicted[::step] + 1) % 3
    probabilities = torch.full((num_nodes, 3), 0.1, dtype=torch.float64)
    probabilities[torch.arange(num_nodes), predicted] = 0.8
    with torch.no_grad():
        grid, end = patcher.curves()
        patches = patcher()
    record.setdefault("history", history())
    return Subject(
        graph="made-up",
        model="HeroFilter",
        data=data,
        card=data_card(data),
        id_of=lambda node: HOSTILE if node == 0 else f"node {node}",
        classes=classes,
        probabilities=probabilities,
        patches=patches,
        curves=Curves(grid, end, patcher.start_curves(data.y)),
        record=Record(**record),
    )


def with_labels(subject: Subject, labels: torch.Tensor) -> Subject:
    """Return the same subject with other labels."""
    data = subject.data.clone()
    data.y = labels
    return replace(subject, data=data)
