"""What did the filter learn? Its response, how training moved it, and whom it chose."""

import torch
from torch import Tensor

from herofilter.patchers.patches import EGO
from herofilter.report.figure import Figure, Lines, Panel
from herofilter.report.interval import percent
from herofilter.report.page_parts import Chart, Charts, Section, Words
from herofilter.report.subject import Curves, Subject

_NO_PATCHES = (
    "This model reads no patches and learns no filter: what it makes of the neighbours is fixed by "
    "its layers."
)
_FIXED = "The patches of this model are chosen by a fixed rule, so no filter was learned."


def filter_section(subject: Subject) -> Section:
    """Return the section."""
    title = "What did the filter learn?"
    if subject.patches is None:
        return Section("filter", title, (Words((_NO_PATCHES,)),))
    homophily = _homophily(subject)
    charts = [] if homophily is None else [homophily]
    if subject.curves is None:
        return Section("filter", title, (Words((_FIXED,)), Charts(tuple(charts))))
    moved = [] if not subject.curves.start else [_movement(subject.curves)]
    words = (
        "A filter g(λ) weighs the frequencies of the graph: near λ = 1 neighbours are alike, near "
        "λ = −1 they differ. The patch of a node holds those nodes to which the filter gives the "
        "largest scores."
    )
    parts = (Words((words,)), _response(subject, subject.curves), Charts((*moved, *charts)))
    return Section("filter", title, parts)


def _response(subject: Subject, curves: Curves) -> Chart:
    grid = curves.grid.double().tolist()
    marks = []
    if not curves.singular:
        found = subject.spectrum
        top = max(found.density)
        density = [value / top for value in found.density]
        marks.append(
            Lines("density of eigenvalues", found.centres, density, markers=False, filled=True)
        )
    marks += [
        Lines(name, grid, _scaled(values), markers=False) for name, values in curves.end.items()
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
    return f"{name} answers most at λ = {peak:+.2f}: {kind}."


def _movement(curves: Curves) -> Chart:
    grid = curves.grid.double().tolist()
    marks = []
    changes = {}
    for name, values in curves.end.items():
        start = curves.start[name]
        changes[name] = float((_unit(values) - _unit(start)).abs().max())
        marks.append(Lines(f"{name}, trained", grid, _scaled(values), markers=False))
        marks.append(Lines(f"{name}, start", grid, _scaled(start), markers=False, dashed=True))
    axis = "singular value σ" if curves.singular else "eigenvalue λ"
    panel = Panel("", axis, "g(λ), largest modulus 1", tuple(marks))
    most = max(changes, key=changes.__getitem__)
    finding = (
        f"Training moved {most} most: its response changed by up to {changes[most]:.2f} of its "
        "largest value."
    )
    if changes[most] < 0.05:
        finding = "Training hardly moved the filters: they already fitted the graph."
    return Chart("movement", "How training moved the filters", finding, Figure("", (panel,)))


def _homophily(subject: Subject) -> Chart | None:
    """Return the share of equal labels at each rank of a slot; None without labelled pairs."""
    patches = subject.patches
    labels = subject.labels
    if patches is None or not bool((labels >= 0).any()):
        return None
    own = labels[patches.nodes].unsqueeze(1)
    member = labels[patches.index.long().clamp(min=0)]
    others = patches.mask & (patches.index != patches.nodes.unsqueeze(1))
    counted = others & (own >= 0) & (member >= 0)
    # [p]
    totals, alike = counted.sum(dim=0), (counted & (own == member)).sum(dim=0)
    share = (alike / totals.clamp(min=1)).double().masked_fill(totals == 0, float("nan"))
    marks = []
    for slot in patches.slots:
        if slot.name != EGO:
            ranks = [float(rank) for rank in range(1, slot.stop - slot.start + 1)]
            marks.append(Lines(slot.name, ranks, share[slot.start : slot.stop].tolist()))
    if not marks:
        return None
    longest = max(len(mark.x) for mark in marks)
    ends = (1.0, float(max(longest, 2)))
    edges = _edge_homophily(subject)
    marks.append(Lines("edges of the graph", ends, (edges, edges), markers=False, dashed=True))
    sizes = torch.bincount(labels[labels >= 0]).double()
    chance = float((sizes / sizes.sum()).square().sum())
    marks.append(Lines("chance", ends, (chance, chance), markers=False, dashed=True))
    panel = Panel("", "rank in the patch", "share of the node's own class", tuple(marks))
    overall = float(alike.sum()) / max(int(totals.sum()), 1)
    word = "above" if overall > edges else "below"
    finding = (
        f"{percent(overall, 0)} of the chosen nodes share the node's class, {word} the edges "
        f"({percent(edges, 0)}) and against {percent(chance, 0)} by chance. All labels, those of "
        "the test nodes included, are used for this chart only."
    )
    title = "Did it choose nodes of the same class?"
    return Chart("patch-homophily", title, finding, Figure("", (panel,)))


def _edge_homophily(subject: Subject) -> float:
    first, second = subject.labels[subject.pairs]
    known = (first >= 0) & (second >= 0)
    return float((first == second)[known].double().mean()) if bool(known.any()) else 0.0


def _plain(name: str, grid: list[float], slope: float) -> Lines:
    values = [0.5 + slope * at for at in grid]
    return Lines(name, grid, values, markers=False, dashed=True)


def _unit(values: Tensor) -> Tensor:
    return values.double() / values.abs().max().clamp(min=1e-12)


def _scaled(values: Tensor) -> list[float]:
    return [float(value) for value in _unit(values)]
