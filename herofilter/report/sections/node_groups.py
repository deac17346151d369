"""Accuracy of groups of nodes: by how much their neighbours differ, and by how many they have."""

import torch
from torch import Tensor

from herofilter.report.figure import Bars, Figure, Panel
from herofilter.report.interval import share_error
from herofilter.report.page_parts import Chart
from herofilter.report.subject import PARTS, Subject

_FIFTHS = ("0–20 %", "20–40 %", "40–60 %", "60–80 %", "80–100 %")
_DEGREES = (0, 1, 2, 3, 5, 9, 17, 33, 65, 129)

# a name, and which of the judged nodes belong to it: [t]
Group = tuple[str, Tensor]


def by_heterophily(subject: Subject) -> Chart:
    """Return accuracy where few neighbours differ, where many do, and without any."""
    share = subject.heterophily[subject.judged]
    fifth = (share * 5).floor().clamp(max=4)
    groups = _present([(name, fifth == number) for number, name in enumerate(_FIFTHS)])
    apart = _present([("no labelled ones", share.isnan())])
    right = subject.predicted[subject.judged] == subject.labels[subject.judged]
    vote = neighbour_vote(subject) == subject.labels[subject.judged]
    bars = (
        _bars("this model", groups + apart, right),
        _bars("vote of training neighbours", groups + apart, vote),
    )
    title = "neighbours of another class (in brackets: nodes)"
    panel = Panel("", title, "accuracy (%)", bars, y_range=(0, 105))
    finding = "No two groups can be compared."
    if len(groups) > 1:
        last = len(groups) - 1
        ends = [(_value(bar, 0), _value(bar, last)) for bar in bars]
        finding = (
            f"Where {groups[0][0]} of the neighbours differ it is right for {ends[0][0]:.0f} %, "
            f"where {groups[-1][0]} differ for {ends[0][1]:.0f} %; the vote of a node's training "
            f"neighbours is right for {ends[1][0]:.0f} % and {ends[1][1]:.0f} %."
        )
    return Chart(
        "by-heterophily",
        "Does it hold where neighbours differ?",
        f"{finding} All labels are used to tell how much neighbours differ, in this chart only.",
        Figure("", (panel,)),
    )


def by_degree(subject: Subject) -> Chart:
    """Return accuracy by the number of neighbours."""
    degrees = subject.degrees[subject.judged]
    groups = []
    for low, high in zip(_DEGREES, (*_DEGREES[1:], None), strict=True):
        here = degrees >= low if high is None else (degrees >= low) & (degrees < high)
        name = f"{low}+" if high is None else f"{low}–{high - 1}"
        groups.append((str(low) if high == low + 1 else name, here))
    groups = _present(groups)
    right = subject.predicted[subject.judged] == subject.labels[subject.judged]
    bars = _bars("accuracy", groups, right)
    title = "neighbours of a node (in brackets: nodes)"
    panel = Panel("", title, "accuracy (%)", (bars,), y_range=(0, 105))
    values = [_value(bars, number) for number in range(len(groups))]
    weakest = values.index(min(values))
    finding = (
        f"It is weakest for nodes with {groups[weakest][0]} neighbours, {values[weakest]:.0f} %, "
        f"and reaches {max(values):.0f} % at best; the lines on the bars are 95 % intervals."
    )
    if len(groups) == 1:
        finding = "All nodes have about as many neighbours."
    return Chart("by-degree", "Does it need many neighbours?", finding, Figure("", (panel,)))


def neighbour_vote(subject: Subject) -> Tensor:
    """Return for each judged node the commonest class among its training neighbours: ``[t]``.

    Nodes without training neighbours get the commonest class of all.
    """
    known = subject.labels.masked_fill(subject.parts != PARTS.index("train"), -1)
    row = torch.full((subject.num_nodes,), -1)
    row[subject.judged] = torch.arange(subject.judged.numel())
    first, second = subject.pairs
    kept = (row[first] >= 0) & (known[second] >= 0)
    shape = (subject.judged.numel(), len(subject.classes))
    keys = row[first[kept]] * shape[1] + known[second[kept]]
    votes = torch.bincount(keys, minlength=shape[0] * shape[1]).view(shape)
    return votes.argmax(dim=1).masked_fill(votes.sum(dim=1) == 0, commonest_class(subject))


def commonest_class(subject: Subject) -> int:
    """Return the class of most training nodes."""
    seen = subject.labels[(subject.parts == PARTS.index("train")) & (subject.labels >= 0)]
    return int(torch.bincount(seen).argmax()) if seen.numel() else 0


def _present(groups: list[Group]) -> list[Group]:
    return [(name, here) for name, here in groups if bool(here.any())]


def _bars(title: str, groups: list[Group], right: Tensor) -> Bars:
    totals = [int(here.sum()) for _, here in groups]
    hits = [int(right[here].sum()) for _, here in groups]
    counted = list(zip(hits, totals, strict=True))
    return Bars(
        title,
        [f"{name} ({total:,})" for (name, _), total in zip(groups, totals, strict=True)],
        [100 * hit / total for hit, total in counted],
        [100 * share_error(hit, total) for hit, total in counted],
    )


def _value(bars: Bars, number: int) -> float:
    return float(bars.values[number] or 0)
