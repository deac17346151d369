"""What did the filter learn? Its response, how training moved it, and whom it chose."""

import torch
from torch import Tensor

from herofilter.measures.fit_warning import listed
from herofilter.patchers.patches import EGO
from herofilter.predict.slot_words import slot_words
from herofilter.report.figure import Bars, Figure, Lines, Panel
from herofilter.report.interval import percent
from herofilter.report.page_parts import Chart, Charts, Section, Words
from herofilter.report.sections.making import chosen_epoch
from herofilter.report.subject import Curves, Subject
from herofilter.settings import RELATIONS

_NO_PATCHES = (
    "This model reads no patches and learns no filter: what it makes of the neighbours is fixed by "
    "its layers."
)
_LONG = 3
_GREY = 5
# opacities of the first and the last curve between start and end
_PALEST, _DARKEST = 0.2, 0.6
_FIXED = "The patches of this model are chosen by a fixed rule, so no filter was learned."


def filter_section(subject: Subject) -> Section:
    """Return the section."""
    title = "What did the filter learn?"
    if subject.patches is None:
        return Section("filter", title, (Words((_NO_PATCHES,)),))
    charts = _homophily(subject)
    if subject.curves is None:
        return Section("filter", title, (Words((_FIXED,)), Charts(tuple(charts))))
    kept = chosen_epoch(subject.record)
    moved = [_movement(subject.curves, kept)] if subject.curves.start else []
    words = (
        "A filter g(λ) weighs the frequencies of the graph: near λ = 1 neighbours are alike, near "
        "λ = −1 they differ. The patch of a node holds those nodes to which the filter gives the "
        "largest scores."
    )
    relations = [
        f"{slot.name} ({slot_words(slot.name, subject.directed)})"
        for slot in subject.patches.slots
        if slot.name in RELATIONS
    ]
    more = [f"Beside the filters, fixed relations fill the patch: {'; '.join(relations)}."]
    said = Words((words, *(more if relations else ())))
    parts = (said, _response(subject, subject.curves), Charts((*moved, *charts)))
    return Section("filter", title, parts)


def _response(subject: Subject, curves: Curves) -> Chart:
    grid = curves.grid.double().tolist()
    marks = []
    if not curves.singular:
        found = subject.spectrum
        top = max(found.density)
        density = [value / top for value in found.density]
        marks.append(
            Lines(
                "density of eigenvalues",
                found.centres,
                density,
                markers=False,
                filled=True,
                colour=_GREY,
            )
        )
    marks += [
        Lines(name, grid, _scaled(values), markers=False, colour=number)
        for number, (name, values) in enumerate(curves.end.items())
    ]
    marks.append(_plain("low-pass (1 + λ) / 2", grid, 0.5))
    if not curves.singular:
        marks.append(_plain("high-pass (1 − λ) / 2", grid, -0.5))
    axis = "singular value σ" if curves.singular else "eigenvalue λ"
    panel = Panel("", axis, "g(λ), largest modulus 1", tuple(marks))
    said = " ".join(_character(name, curves.grid, values) for name, values in curves.end.items())
    title = "Response of the learned filters over the spectrum"
    return Chart("response", title, said, Figure("", (panel,)), wide=True, height=380)


def _character(name: str, grid: Tensor, values: Tensor) -> str:
    """Return a sentence on where a filter answers most."""
    low, high = (values[here].abs().mean() for here in (grid > 0.3, grid < -0.3))
    middle = values[grid.abs() <= 0.3].abs().mean()
    peak = float(grid[int(values.abs().argmax())])
    if bool(torch.isnan(high)):
        return f"{name} answers most at {peak:+.2f}."
    kinds = {"low-pass": low, "high-pass": high, "band-pass": middle}
    kind = max(kinds, key=lambda key: float(kinds[key]))
    if float(torch.minimum(low, high)) > 0.6 * float(torch.maximum(low, high)) > float(middle):
        kind = "both ends of the spectrum (neighbours of neighbours)"
    at = f"{peak:+.2f}".replace("-", "−")
    return f"{name} answers most at λ = {at}: {kind}."


def _movement(curves: Curves, chosen: int | None) -> Chart:
    grid = curves.grid.double().tolist()
    # later choices are of no consequence for what was kept
    between = [epoch for epoch in curves.between if chosen is None or epoch <= chosen]
    marks = [
        Lines(
            f"{name}, after {epoch} epochs",
            curves.between_grid,
            _scaled(torch.tensor(curves.between[epoch][name])),
            markers=False,
            colour=number,
            opacity=_PALEST + (_DARKEST - _PALEST) * (position + 1) / len(between),
        )
        for position, epoch in enumerate(between)
        for number, name in enumerate(curves.end)
    ]
    changes = {}
    for number, (name, values) in enumerate(curves.end.items()):
        start = curves.start[name]
        changes[name] = float((_unit(values) - _unit(start)).abs().max())
        for when, curve in (("trained", values), ("start", start)):
            dashed = when == "start"
            marks.append(
                Lines(
                    f"{name}, {when}",
                    grid,
                    _scaled(curve),
                    markers=False,
                    dashed=dashed,
                    colour=number,
                )
            )
    axis = "singular value σ" if curves.singular else "eigenvalue λ"
    panel = Panel("", axis, "g(λ), largest modulus 1", tuple(marks))
    most = max(changes, key=changes.__getitem__)
    finding = (
        f"Training moved {most} most: its response changed by up to {changes[most]:.2f} of its "
        "largest value."
    )
    if changes[most] < 0.05:
        finding = "Training hardly moved the filters: they already fitted the graph."
    if between:
        after = listed([str(epoch) for epoch in between])
        finding += (
            f" Faint lines show the filters when patches were chosen anew, after {after} epochs"
            f"{', the later the darker' if len(between) > 1 else ''}."
        )
    return Chart("movement", "How training moved the filters", finding, Figure("", (panel,)))


def _homophily(subject: Subject) -> list[Chart]:
    """Return the shares of equal labels of each slot, and by rank where slots are long."""
    patches, labels = subject.patches, subject.labels
    if patches is None or not bool((labels >= 0).any()):
        return []
    own = labels[patches.nodes].unsqueeze(1)
    member = labels[patches.index.long().clamp(min=0)]
    others = patches.mask & (patches.index != patches.nodes.unsqueeze(1))
    counted = others & (own >= 0) & (member >= 0)
    # [p]
    totals, alike = counted.sum(dim=0), (counted & (own == member)).sum(dim=0)
    slots = [
        slot
        for slot in patches.slots
        if slot.name != EGO and int(totals[slot.start : slot.stop].sum())
    ]
    if not slots:
        return []
    shares = {
        slot.name: float(alike[slot.start : slot.stop].sum() / totals[slot.start : slot.stop].sum())
        for slot in slots
    }
    level = {"edges of the graph": _same_share(subject), "by chance": _chance(labels)}
    charts = [_slot_chart(shares, level, float(alike.sum() / totals.sum()))]
    if max(slot.stop - slot.start for slot in slots) >= _LONG:
        share = (alike / totals.clamp(min=1)).double().masked_fill(totals == 0, float("nan"))
        charts.append(_rank_chart({s.name: share[s.start : s.stop] for s in slots}, level))
    return charts


def _slot_chart(shares: dict[str, float], level: dict[str, float], overall: float) -> Chart:
    names = [*shares, *level]
    gaps = [None] * len(shares), [None] * len(level)
    chosen = [100 * share for share in shares.values()]
    known = [100 * share for share in level.values()]
    bars = (
        Bars("chosen nodes", names, [*chosen, *gaps[1]], written=".0f", colour=0),
        Bars("for comparison", names, [*gaps[0], *known], written=".0f", colour=5),
    )
    panel = Panel("", "chosen by", "of the node's own class (%)", bars, stacked=True)
    edges, chance = level.values()
    word = "above" if overall > edges else "below"
    finding = (
        f"{percent(overall, 0)} of the chosen nodes are of the node's own class, {word} its "
        f"neighbours ({percent(edges, 0)}); by chance it would be {percent(chance, 0)}. All "
        "labels, those of the test nodes too, are read for this chart only."
    )
    title = "Did it choose nodes of the same class?"
    return Chart("patch-homophily", title, finding, Figure("", (panel,)))


def _rank_chart(shares: dict[str, Tensor], level: dict[str, float]) -> Chart:
    marks = [
        Lines(name, [float(rank) for rank in range(1, len(values) + 1)], (100 * values).tolist())
        for name, values in shares.items()
    ]
    ends = (1.0, float(max(len(values) for values in shares.values())))
    marks += [
        Lines(name, ends, (100 * share, 100 * share), markers=False, dashed=True)
        for name, share in level.items()
    ]
    step = max(1, int(ends[1]) // 12)
    panel = Panel("", "rank in the patch", "of the same class (%)", tuple(marks), x_step=step)
    first, last = (
        sum(float(values[at]) for values in shares.values()) / len(shares) for at in (0, -1)
    )
    finding = (
        f"Nodes of the first rank share the class in {percent(first, 0)} of cases, those of the "
        f"last in {percent(last, 0)}."
    )
    return Chart("rank-homophily", "Is the order right?", finding, Figure("", (panel,)))


def _same_share(subject: Subject) -> float:
    counts = subject.label_pairs.counts
    return float(counts.trace() / counts.sum().clamp(min=1))


def _chance(labels: Tensor) -> float:
    sizes = torch.bincount(labels[labels >= 0]).double()
    return float((sizes / sizes.sum()).square().sum())


def _plain(name: str, grid: list[float], slope: float) -> Lines:
    values = [0.5 + slope * at for at in grid]
    return Lines(name, grid, values, markers=False, dashed=True)


def _unit(values: Tensor) -> Tensor:
    return values.double() / values.abs().max().clamp(min=1e-12)


def _scaled(values: Tensor) -> list[float]:
    return [float(value) for value in _unit(values)]
