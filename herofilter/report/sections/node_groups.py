"""Accuracy of groups of nodes: by how much their neighbours differ, and by how many they have."""

import torch
from torch import Tensor

from herofilter.report.figure import Bars, Figure, Panel
from herofilter.report.interval import percent_bars
from herofilter.report.page_parts import Chart
from herofilter.report.subject import PARTS, Subject

_FIFTHS = ("0–20 %", "20–40 %", "40–60 %", "60–80 %", "80–100 %")
_ENOUGH = 10
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
    title = "neighbours that differ (nodes)"
    panel = Panel("", title, "accuracy (%)", bars, y_range=(0, 105))
    large = _large(groups)
    finding = "Too few nodes to compare groups."
    if large:
        low, high = large[0], large[-1]
        ends = [(_value(bar, low), _value(bar, high)) for bar in bars]
        finding = (
            f"Where {groups[high][0]} of the neighbours differ it is right for {ends[0][1]:.0f} %, "
            f"a vote of a node's training neighbours for {ends[1][1]:.0f} %"
        )
        finding += (
            f"; where {groups[low][0]} differ, for {ends[0][0]:.0f} % and {ends[1][0]:.0f} %."
            if low < high
            else "; the other groups are too small to compare."
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
    title = "number of neighbours (nodes)"
    panel = Panel("", title, "accuracy (%)", (bars,), y_range=(0, 105))
    values = [_value(bars, number) for number in range(len(groups))]
    large = sorted(_large(groups), key=values.__getitem__)
    finding = "Too few nodes to compare groups."
    if len(large) > 1:
        low, high = large[0], large[-1]
        finding = (
            f"It is right for {values[low]:.0f} % of the nodes with {groups[low][0]} neighbours, "
            f"and for {values[high]:.0f} % of those with {groups[high][0]}; the lines on the bars "
            "are 95 % intervals."
        )
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


def _large(groups: list[Group]) -> list[int]:
    """Return the positions of the groups of which something can be said."""
    return [number for number, (_, here) in enumerate(groups) if int(here.sum()) >= _ENOUGH]


def _bars(title: str, groups: list[Group], right: Tensor) -> Bars:
    counts = [(int(right[here].sum()), int(here.sum())) for _, here in groups]
    names = [f"{name} ({total:,})" for (name, _), (_, total) in zip(groups, counts, strict=True)]
    return Bars(title, names, *percent_bars(counts))


def _value(bars: Bars, number: int) -> float:
    return float(bars.values[number] or 0)
