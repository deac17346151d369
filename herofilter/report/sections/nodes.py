"""Why this node? What the node explorer of a page knows."""

from typing import Any

import torch
from torch import Tensor

from herofilter.predict.slot_words import slot_words
from herofilter.report.interval import count
from herofilter.report.page_parts import Explorer, Section
from herofilter.report.subject import PARTS, Subject

EVERY_NODE_UP_TO = 2000
OF_EACH_KIND = 200
# of each kind, how many are explained by columns
EXPLAINED = 25
_MOST_CLASSES = 8
_MOST_COLUMNS = 12
_MOST_NEIGHBOURS = 40
_PARTS = {"train": "training", "val": "validation", "test": "test", "": "in no part"}


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
    return Section("nodes", "Why this node?", (Explorer(lead, _explorer(subject, centres, picks)),))


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


def _explorer(subject: Subject, centres: Tensor, picks: dict[str, Tensor]) -> dict[str, Any]:
    places: dict[int, int] = {}

    def place(nodes: list[int]) -> list[int]:
        return [places.setdefault(node, len(places)) for node in nodes]

    patches = None if subject.patches is None else subject.patches.take(centres)
    slot_of = [] if patches is None else _slot_of(patches.slots)
    width = min(_MOST_CLASSES, len(subject.classes))
    best = subject.probabilities[centres].topk(width, dim=1)
    rows = centres.tolist()
    found: dict[str, Any] = {
        "node": place(rows),
        "degree": subject.degrees[centres].tolist(),
        "probabilities": [
            list(zip(numbers, values, strict=True))
            for numbers, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ],
        "neighbours": [
            place(subject.neighbours(node)[:_MOST_NEIGHBOURS].tolist()) for node in rows
        ],
        "members": [],
        "slots": [],
        "scores": [],
    }
    for row in range(len(rows)):
        kept = [] if patches is None else patches.mask[row].nonzero().view(-1).tolist()
        index = [] if patches is None else patches.index[row].tolist()
        score = [] if patches is None else patches.score[row].tolist()
        found["members"].append(place([index[column] for column in kept]))
        found["slots"].append([slot_of[column] for column in kept])
        found["scores"].append([score[column] for column in kept])
    row_of = {node: row for row, node in enumerate(rows)}
    found["explained"] = _explained(subject, picks, row_of)
    return {
        "classes": list(subject.classes),
        "parts": [_PARTS[part] for part in PARTS],
        "slots": []
        if patches is None
        else [_slot_title(slot.name, subject.directed) for slot in patches.slots],
        "picks": {kind: [row_of[node] for node in nodes.tolist()] for kind, nodes in picks.items()},
        "centres": found,
        "nodes": _described(subject, torch.tensor(list(places), dtype=torch.long)),
    }


def _slot_title(name: str, directed: bool) -> str:
    return name if name.startswith("filter-") else slot_words(name, directed)


def _slot_of(slots: tuple[Any, ...]) -> list[int]:
    return [number for number, slot in enumerate(slots) for _ in range(slot.start, slot.stop)]


def _explained(
    subject: Subject, picks: dict[str, Tensor], row_of: dict[int, int]
) -> dict[str, Any]:
    """Return which columns counted for the first nodes of each kind, by their rows."""
    if subject.explain is None:
        return {}
    firsts = [node for nodes in picks.values() for node in nodes[:EXPLAINED].tolist()]
    nodes = list(dict.fromkeys(firsts))
    found = {}
    for node, entry in zip(nodes, subject.explain(nodes), strict=True):
        columns = [
            [each["column"], each["value"], each["without"]]
            for each in entry["columns"][:_MOST_COLUMNS]
        ]
        found[str(row_of[node])] = {"said": entry["said"], "columns": columns}
    return found


def _described(subject: Subject, nodes: Tensor) -> dict[str, list[Any]]:
    labels = subject.labels[nodes]
    seen = subject.parts[nodes] == PARTS.index("train")
    return {
        "id": [subject.id_of(node) for node in nodes.tolist()],
        "label": labels.tolist(),
        "known": labels.masked_fill(~seen, -1).tolist(),
        "part": subject.parts[nodes].tolist(),
        "predicted": subject.predicted[nodes].tolist(),
        "confidence": subject.confidence[nodes].tolist(),
    }
