"""Explanations of predictions, with the user's ids and class names."""

from typing import Any

import torch
from rich.table import Table

from herofilter.data import TableGraph
from herofilter.data.tables.read_table import TableSource
from herofilter.data.tables.table_columns import TableColumns
from herofilter.predict import Predictor, explain_prediction
from herofilter.predict.explain import Explanation, TokenShare
from herofilter.predict.tables import read_later

_USUAL = TableColumns()


def explain_saved(
    predictor: Predictor,
    node: str | int,
    edges: TableSource | None = None,
    nodes: TableSource | None = None,
    columns: TableColumns = _USUAL,
) -> dict[str, Any]:
    """Explain a node of the graph of training, or of tables, ready for JSON.

    Args:
        predictor: a fitted model with its graph.
        node: the id of the node.
        edges: new edges, if any, as for prediction.
        nodes: new nodes, if any.
        columns: what the columns of ids, of edges and of weights are called.

    Returns:
        ``node``, ``prediction``, ``probability``, ``tokens`` (with ``slot``, ``id``, ``score``,
        ``label``, ``change`` and ``share``), ``response`` of the learned filters or None,
        ``notes``, what was assumed of the tables, and ``said``, the summary as sentences.
    """
    graph, _ = read_later(predictor, edges, nodes, columns)
    row = graph.position(node)
    known = edges is None and nodes is None
    model = predictor if known else predictor.on(graph.data, torch.tensor([row]))
    found = explain_prediction(model, row)
    classes = graph.shown_classes
    tokens = [_token(token, graph, classes) for token in found.tokens]
    name = classes[found.predicted]
    return {
        "node": graph.ids[found.node].as_py(),
        "notes": [] if known else list(graph.notes),
        "prediction": name,
        "probability": found.probability,
        "tokens": tokens,
        "response": found.response,
        "said": _sentences(found, tokens, name),
    }


def explanation_table(found: dict[str, Any], top: int = 10) -> Table:
    """Return the tokens with the largest shares as a table."""
    title = f"{found['node']}: {found['prediction']} ({100 * found['probability']:.0f} %)"
    table = Table(title=title)
    for column in ("token", "node", "score", "known label", "share"):
        table.add_column(column, justify="right" if column in ("score", "share") else "left")
    for token in found["tokens"][:top]:
        shown = "all of them" if token["id"] is None else str(token["id"])
        score = "" if token["score"] is None else f"{token['score']:.3g}"
        label = "" if token["label"] is None else str(token["label"])
        table.add_row(token["slot"], shown, score, label, f"{100 * token['share']:+.0f} %")
    return table


def _token(
    token: TokenShare, graph: TableGraph, classes: tuple[str | int | bool, ...]
) -> dict[str, Any]:
    return {
        "slot": token.slot,
        "id": None if token.node is None else graph.ids[token.node].as_py(),
        "score": token.score,
        "label": None if token.label is None else classes[token.label],
        "change": token.change,
        "share": token.share,
    }


def _sentences(
    found: Explanation, tokens: list[dict[str, Any]], name: str | int | bool
) -> list[str]:
    ego_share = sum(abs(token["share"]) for token in tokens if token["slot"] == "ego")
    said = [
        f"{100 * ego_share:.0f} % of the decision rests on the node's own features, "
        f"{100 * (1 - ego_share):.0f} % on other nodes"
    ]
    known = [token for token in tokens if token["label"] is not None and token["slot"] != "ego"]
    if known:
        same = sum(token["label"] == name for token in known)
        said.append(f"of {len(known)} patch nodes with a known label, {same} are {name}")
    against = next((token for token in tokens if token["share"] < 0), None)
    if against is not None:
        who = "the summary" if against["id"] is None else str(against["id"])
        said.append(f"most against it: {who} ({against['slot']}, {100 * against['share']:+.0f} %)")
    return said + _responses(found)


def _responses(found: Explanation) -> list[str]:
    """Return a sentence per learned filter: the eigenvalue with the largest response."""
    if found.response is None or not found.response["eigenvalues"]:
        return []
    said = []
    for curve in found.response["filters"]:
        pairs = zip(curve["response"], found.response["eigenvalues"], strict=True)
        value, eigenvalue = max(pairs, key=lambda pair: abs(pair[0]))
        said.append(f"{curve['name']} answers most at λ = {eigenvalue:+.2f}, with {value:+.2f}")
    return said
