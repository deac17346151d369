"""The sentences that sum an explanation up."""

from typing import Any

from herofilter.predict.explain import strongest_responses


def sentences(found: dict[str, Any], reads: str) -> list[str]:
    """Return an explanation in sentences.

    Args:
        found: an explanation without them, see
            :func:`~herofilter.report.explanation.explain_saved`.
        reads: ``columns`` for a model that ignores the graph, else ``graph``.
    """
    said = []
    if reads == "columns":
        said.append("the model reads the node's own columns only, no edges")
    elif found["tokens"]:
        said += _token_sentences(found)
    return [*said, *_own_columns(found), *_other_nodes(found), *_responses(found)]


def percent(probability: float) -> str:
    """Return a probability in percent, without decimals unless it is small or large.

    Example:
        >>> percent(0.42), percent(0.997), percent(0.9999)
        ('42 %', '99.7 %', '>99.9 %')
    """
    if probability > 0.999:
        return ">99.9 %"
    decimals = 1 if probability > 0.99 or probability < 0.01 else 0
    return f"{100 * probability:.{decimals}f} %"


def _token_sentences(found: dict[str, Any]) -> list[str]:
    tokens, name = found["tokens"], found["prediction"]
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
        who = f"the summary of {against['slot']}" if against["id"] is None else str(against["id"])
        share = f"{-100 * against['share']:.0f} % of the decision"
        said.append(f"{who} speaks most against it, with {share}")
    return said


def _own_columns(found: dict[str, Any]) -> list[str]:
    said = []
    name, before = found["prediction"], percent(found["probability"])
    strongest = next(iter(found["columns"]), None)
    if strongest is not None and percent(strongest["without"]) == before:
        said.append("none of its own columns counts much by itself")
    elif strongest is not None:
        said.append(
            f"of its own columns {_cell(strongest)} counts most: with an average value "
            f"{name} would have {percent(strongest['without'])} instead of {before}"
        )
    tried = found["tried"]
    if tried["columns"] < tried["of"]:
        said.append(
            f"{tried['columns']} of {tried['of']} columns were tried, those in which the node is "
            "most unusual, since each takes a pass over the graph"
        )
    return said


def _other_nodes(found: dict[str, Any]) -> list[str]:
    strongest = next(iter(found["others"]), None)
    if strongest is None:
        return []
    name, before = found["prediction"], percent(found["probability"])
    tried = found["tried"]["others"]
    if percent(strongest["without"]) == before:
        return [f"no other node counts much by itself ({tried} were tried)"]
    sentence = (
        f"of the other nodes ({tried} were tried) {strongest['id']} counts most: "
        f"were it average, {name} would have {percent(strongest['without'])} instead of {before}"
    )
    column = next(iter(strongest["columns"]), None)
    if column is not None and percent(column["without"]) != before:
        sentence += f", chiefly for its column {_cell(column)}"
    return [sentence]


def _cell(effect: dict[str, Any]) -> str:
    value = "" if effect["value"] is None else f" ({effect['value']})"
    return f"{effect['column']}{value}"


def _responses(found: dict[str, Any]) -> list[str]:
    """Return a sentence per learned filter: the eigenvalue with the largest response."""
    return [
        f"{name} answers most at λ = {eigenvalue:+.2f}, with {value:+.2f}"
        for name, (eigenvalue, value) in strongest_responses(found["response"]).items()
    ]
