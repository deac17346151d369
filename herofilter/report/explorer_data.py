"""What the node explorer of a page knows: some nodes, their patches and their neighbours."""

from typing import Any

import torch
from torch import Tensor

from herofilter.patchers import Patches
from herofilter.predict.slot_words import slot_words
from herofilter.report.subject import PARTS, Subject

# of each kind, how many are explained by columns
EXPLAINED = 25
MOST_COLUMNS = 12
_MOST_CLASSES = 8
_MOST_NEIGHBOURS = 40
_PARTS = {"train": "training", "val": "validation", "test": "test", "": "in no part"}


class _Places:
    """Gives each node that is mentioned a place in the list of nodes of the page."""

    def __init__(self) -> None:
        self.of: dict[int, int] = {}

    def __call__(self, nodes: list[int]) -> list[int]:
        return [self.of.setdefault(node, len(self.of)) for node in nodes]


def explorer_data(subject: Subject, centres: Tensor, picks: dict[str, Tensor]) -> dict[str, Any]:
    """Return what the explorer's script reads, ready for JSON.

    Args:
        subject: the model on its graph.
        centres: the nodes that can be asked for: ``[c]``.
        picks: which of them are shown for each button, in order.
    """
    place = _Places()
    rows = centres.tolist()
    row_of = {node: row for row, node in enumerate(rows)}
    best = subject.probabilities[centres].topk(min(_MOST_CLASSES, len(subject.classes)), dim=1)
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    near = [subject.neighbours(node)[:_MOST_NEIGHBOURS].tolist() for node in rows]
    patches = None if subject.patches is None else subject.patches.take(centres)
    found = {
        "node": place(rows),
        "degree": subject.degrees[centres].tolist(),
        "probabilities": [list(zip(*pair, strict=True)) for pair in pairs],
        "neighbours": [place(nodes) for nodes in near],
        **_members(patches, place, len(rows)),
        "explained": _explained(subject, picks, row_of),
    }
    slots = () if patches is None else patches.slots
    return {
        "classes": list(subject.classes),
        "parts": [_PARTS[part] for part in PARTS],
        "slots": [_slot_title(slot.name, subject.directed) for slot in slots],
        "picks": {kind: [row_of[node] for node in nodes.tolist()] for kind, nodes in picks.items()},
        "centres": found,
        "nodes": _described(subject, torch.tensor(list(place.of), dtype=torch.long)),
    }


def _members(patches: Patches | None, place: _Places, count: int) -> dict[str, list[list[Any]]]:
    """Return the nodes of each patch, the slots they are in, and their scores."""
    if patches is None:
        return {name: [[] for _ in range(count)] for name in ("members", "slots", "scores")}
    slot_of = [n for n, slot in enumerate(patches.slots) for _ in range(slot.start, slot.stop)]
    found: dict[str, list[list[Any]]] = {"members": [], "slots": [], "scores": []}
    for index, score in zip(patches.index.tolist(), patches.score.tolist(), strict=True):
        kept = [column for column, node in enumerate(index) if node >= 0]
        found["members"].append(place([index[column] for column in kept]))
        found["slots"].append([slot_of[column] for column in kept])
        found["scores"].append([score[column] for column in kept])
    return found


def _slot_title(name: str, directed: bool) -> str:
    return name if name.startswith("filter-") else slot_words(name, directed)


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
            for each in entry["columns"][:MOST_COLUMNS]
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
