"""Why this node? Which columns matter at all, and the node explorer."""

import torch
from torch import Tensor

from herofilter.report.explorer_data import MOST_COLUMNS, explorer_data
from herofilter.report.figure import Bars, Figure, Panel
from herofilter.report.interval import count
from herofilter.report.page_parts import Chart, Explorer, Part, Section
from herofilter.report.subject import Subject

EVERY_NODE_UP_TO = 2000
OF_EACH_KIND = 200


def node_section(subject: Subject, seed: int = 0) -> Section:
    """Return the section; a large graph has a sample of its nodes, chosen by the seed."""
    picks = _picks(subject, seed)
    if subject.num_nodes <= EVERY_NODE_UP_TO:
        centres = torch.arange(subject.num_nodes)
        which = f"All {count(subject.num_nodes, 'node')} of the graph can be asked for."
    else:
        centres = torch.unique(torch.cat(list(picks.values())))
        which = (
            f"The graph has {count(subject.num_nodes, 'node')}, of which this page holds a sample "
            f"of {centres.numel():,}: mistakes, uncertain predictions and random nodes."
        )
    lead = (
        f"{which} Type an id or pick one, and see whom the model looked at. A known label is one "
        "that the model saw in training."
    )
    parts: list[Part] = [_columns(subject)] if subject.importance else []
    parts.append(Explorer(lead, explorer_data(subject, centres, picks)))
    return Section("nodes", "Why this node?", tuple(parts))


def _columns(subject: Subject) -> Chart:
    shown = sorted(subject.importance, key=lambda each: -each.accuracy)[:MOST_COLUMNS]
    bars = Bars(
        "",
        [each.column for each in shown],
        [100 * each.accuracy for each in shown],
        [100 * (each.accuracy_high - each.accuracy) for each in shown],
        [100 * (each.accuracy - each.accuracy_low) for each in shown],
    )
    panel = Panel("", "column", "points of accuracy lost", (bars,))
    finding = (
        f"With {shown[0].column} shuffled over all nodes, {100 * shown[0].accuracy:.1f} % fewer of "
        "them get the right class; likewise for each column, with 95 % intervals."
    )
    return Chart("columns", "Which columns matter", finding, Figure("", (panel,)), wide=True)


def _picks(subject: Subject, seed: int) -> dict[str, Tensor]:
    """Return nodes of each kind, in the order in which the page shows them."""
    wrong = (subject.predicted != subject.labels)[subject.judged]
    mistakes = subject.judged[wrong]
    # the surest mistakes teach most
    sure = subject.confidence[mistakes].argsort(descending=True, stable=True)
    uncertain = subject.confidence.argsort(stable=True)
    generator = torch.Generator().manual_seed(seed)
    if subject.num_nodes > 50 * OF_EACH_KIND:
        drawn = torch.randint(subject.num_nodes, (OF_EACH_KIND,), generator=generator)
        chosen = torch.unique(drawn)
    else:
        chosen = torch.randperm(subject.num_nodes, generator=generator)
    return {
        "mistake": mistakes[sure][:OF_EACH_KIND],
        "uncertain": uncertain[:OF_EACH_KIND],
        "random": chosen[:OF_EACH_KIND],
    }
