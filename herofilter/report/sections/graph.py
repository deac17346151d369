"""What kind of graph is this? The data card in words, and how labels and eigenvalues lie."""

import math

import torch

from herofilter.report.figure import Bars, Figure, HeatMap, Lines, Panel
from herofilter.report.interval import count, percent
from herofilter.report.page_parts import Chart, Charts, Facts, Section, Words
from herofilter.report.subject import PARTS, Subject

_MOST_CLASSES = 16
_BINS = 10
_NEAR = 0.05


def graph_section(subject: Subject) -> Section:
    """Return the section."""
    charts = (_heterophily(subject), _compatibility(subject), _classes(subject), _spectrum(subject))
    parts = (Words(_sentences(subject)), Charts(charts), _facts(subject))
    return Section("graph", "What kind of graph is this?", parts)


def _sentences(subject: Subject) -> tuple[str, ...]:
    card = subject.card
    pairs = card.num_undirected_edges
    mean = 2 * pairs / max(subject.num_nodes, 1)
    kind = "directed" if card.directed else "undirected"
    said = [
        f"{subject.graph} has {count(subject.num_nodes, 'node')} and {count(pairs, 'pair')} of "
        f"neighbours ({kind}), {mean:.1f} neighbours per node on average."
    ]
    different = card.edge_heterophily
    if not math.isnan(different):
        word = _word(different)
        said.append(
            f"{percent(different, 0)} of its edges join nodes of different classes: {word}."
        )
    told = card.label_informativeness
    if not math.isnan(told):
        much = "much" if told > 0.3 else "something" if told > 0.05 else "next to nothing"
        said.append(
            f"A neighbour's label tells {much} about a node's own (label informativeness "
            f"{told:.2f} of 1)."
        )
    unlabelled = int((subject.labels < 0).sum())
    # the notes on tables say it, too
    if unlabelled and not subject.record.notes:
        said.append(f"{count(unlabelled, 'node')} have no label.")
    notes = "; ".join(subject.record.notes)
    return (" ".join(said), *([f"From the tables: {notes}."] if notes else []))


def _word(different: float) -> str:
    if different < 0.35:
        return "neighbours are mostly alike, which suits every graph model"
    if different < 0.65:
        return "neighbours are about as often alike as not"
    return "neighbours mostly differ, which misleads models that average over them"


def _heterophily(subject: Subject) -> Chart:
    known = subject.heterophily
    known = known[~known.isnan() & (subject.labels >= 0)]
    bins = (known * _BINS).floor().long().clamp(max=_BINS - 1)
    counts = torch.bincount(bins, minlength=_BINS)
    names = [f"{10 * low}–{10 * low + 10}" for low in range(_BINS)]
    bars = Bars("nodes", names, [float(value) for value in counts])
    panel = Panel("", "neighbours of another class (%)", "nodes", (bars,))
    most = float((known > 0.5).double().mean()) if known.numel() else 0.0
    finding = (
        f"For {percent(most, 0)} of the nodes more than half of the neighbours are of another "
        "class (all labels counted)."
    )
    figure = Figure("", (panel,))
    return Chart("heterophily", "How much neighbours differ, node by node", finding, figure)


def _compatibility(subject: Subject) -> Chart:
    number = len(subject.classes)
    shares = torch.zeros(number, number)
    found = subject.label_pairs.compatibility()
    shares[: found.size(0), : found.size(1)] = found
    sizes = torch.bincount(subject.labels[subject.labels >= 0], minlength=number)
    kept = sizes.argsort(descending=True, stable=True)[:_MOST_CLASSES].sort().values
    names = [subject.classes[index] for index in kept.tolist()]
    grid = HeatMap(names, names, shares[kept][:, kept].tolist(), "share", written=".2f")
    panel = Panel("", "class of the neighbour", "class of the node", (grid,))
    diagonal = shares.diagonal()
    alike = int(diagonal.argmax())
    row, column = divmod(int(shares.clone().fill_diagonal_(0).argmax()), number)
    finding = (
        f"{subject.classes[alike]} keeps to itself most ({percent(float(diagonal[alike]), 0)} of "
        f"its neighbours); the strongest tie between classes is from {subject.classes[row]} to "
        f"{subject.classes[column]} ({percent(float(shares[row, column]), 0)})."
    )
    if number > len(names):
        finding += f" Shown are the {len(names)} largest of {number} classes."
    height = max(330, 110 + 34 * len(names))
    title = "Which classes are neighbours: shares of a row"
    return Chart("compatibility", title, finding, Figure("", (panel,)), height=height)


def _classes(subject: Subject) -> Chart:
    number = len(subject.classes)
    marks = []
    titles = {"train": "training", "val": "validation", "test": "test", "": "in no part"}
    for position, part in enumerate(PARTS):
        here = (subject.parts == position) & (subject.labels >= 0)
        if bool(here.any()):
            counts = torch.bincount(subject.labels[here], minlength=number)
            marks.append(Bars(titles[part], subject.classes, [float(value) for value in counts]))
    panel = Panel("", "class", "nodes", tuple(marks), stacked=True)
    sizes = torch.bincount(subject.labels[subject.labels >= 0], minlength=number)
    largest, smallest = int(sizes.argmax()), int(sizes.argmin())
    finding = (
        f"The largest class, {subject.classes[largest]}, has "
        f"{percent(float(sizes[largest] / sizes.sum()), 0)} of the labelled nodes; the smallest, "
        f"{subject.classes[smallest]}, has {count(int(sizes[smallest]), 'node')}."
    )
    return Chart("classes", "Classes by part", finding, Figure("", (panel,)))


def _spectrum(subject: Subject) -> Chart:
    found = subject.spectrum
    curve = Lines("density", found.centres, found.density, markers=False, filled=True)
    panel = Panel("", "eigenvalue λ of the normalised adjacency", "density", (curve,))
    pairs = list(zip(found.shares, found.centres, strict=True))
    negative = sum(share for share, at in pairs if at < -_NEAR)
    positive = sum(share for share, at in pairs if at > _NEAR)
    middle = 1 - negative - positive
    finding = (
        f"{percent(negative, 0)} of the eigenvalues are negative (high frequencies, where "
        f"neighbours differ), {percent(middle, 0)} close to 0 and {percent(positive, 0)} positive "
        "(low frequencies, where they are alike); estimated with "
        f"{count(found.probes, 'random vector')}."
    )
    return Chart("spectrum", "The spectrum of the graph", finding, Figure("", (panel,)))


def _facts(subject: Subject) -> Facts:
    card = subject.card
    degrees = subject.degrees.double()
    values = {
        "nodes": f"{subject.num_nodes:,}",
        "listed edges": f"{card.num_edges:,}",
        "pairs of neighbours": f"{card.num_undirected_edges:,}",
        "directed": "yes" if card.directed else "no",
        "isolated nodes": f"{card.num_isolated:,}",
        "self-loops": f"{card.num_self_loops:,}",
        "repeated edges": f"{card.num_duplicates:,}",
        "most neighbours": f"{int(degrees.max()) if degrees.numel() else 0:,}",
        "median of neighbours": f"{float(degrees.median()) if degrees.numel() else 0:.0f}",
        "features": f"{int(subject.data.num_features):,}",
        "classes": f"{len(subject.classes):,}",
        "edge heterophily": _rounded(card.edge_heterophily),
        "adjusted homophily": _rounded(card.adjusted_homophily),
        "label informativeness": _rounded(card.label_informativeness),
    }
    return Facts(tuple(values.items()), "Data card", folded=True)


def _rounded(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"
