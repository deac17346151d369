"""What requests and answers look like, and the sentence that a wrong request gets."""

import json
import math
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)
from typing_extensions import TypedDict

from herofilter.errors import HeroFilterError, did_you_mean
from herofilter.serve.limits import Limits

_SHOWN = 60
_SURROGATE = b"\\ud"
_NAMES = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
_STRICT = ConfigDict(extra="forbid")

Id = StrictInt | StrictStr
Number = StrictInt | StrictFloat
Body = TypeVar("Body", bound="Tables")


class RequestError(HeroFilterError, ValueError):
    """A request that can't be understood or is too large, with the HTTP status that says so."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Node(TypedDict):
    """A node: its id, and the columns of the training table by their names."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    id: Id


class Edge(BaseModel):
    """An edge; weights are given if those of training have them."""

    model_config = _STRICT
    source: Id
    target: Id
    weight: Number | None = None


class Tables(BaseModel):
    """Nodes and edges that extend the graph of training, or are a graph of their own."""

    model_config = _STRICT
    nodes: Annotated[list[Node] | None, FailFast()] = Field(
        None, description="a list of objects, each with an id and the columns of the training table"
    )
    edges: Annotated[list[tuple[Id, Id] | Edge] | None, FailFast()] = Field(
        None,
        description="a list of pairs [source, target], or of objects with source, target and "
        "perhaps weight",
    )
    drop_unknown: StrictBool = Field(
        False, description="true or false: whether edges to ids that no node has are dropped"
    )


class PredictRequest(Tables):
    """Which nodes to predict: by default all of the tables, or of the graph of training."""

    ids: Annotated[list[Id] | None, FailFast()] = Field(
        None, description="a list of ids, each text or an integer"
    )


class ExplainRequest(Tables):
    """Which node to explain."""

    id: Id = Field(description="the id of a node, text or an integer")


class Prediction(BaseModel):
    """The class of a node, and the probability of each."""

    id: Id
    prediction: str | int | bool
    confidence: float
    probabilities: dict[str, float]


class PredictAnswer(BaseModel):
    """Predictions in the order of the request, and what was assumed."""

    predictions: list[Prediction]
    notes: list[str]


class HealthAnswer(BaseModel):
    """What is served."""

    status: str
    model: str
    classes: list[str | int | bool]
    nodes: int
    columns: list[str]
    weighted: bool
    limits: dict[str, int]
    version: str


class ErrorAnswer(BaseModel):
    """What must hold, what was got, and the cure."""

    error: str


def parse_body(body: bytes, kind: type[Body], limits: Limits) -> Body:
    """Return a request's body, or raise a :class:`RequestError` that says what is wrong.

    Example:
        >>> parse_body(b'{"ids": ["a", 7]}', PredictRequest, Limits()).ids
        ['a', 7]
        >>> parse_body(b'{"idz": []}', PredictRequest, Limits())
        Traceback (most recent call last):
        herofilter.serve.bodies.RequestError: there is no field 'idz' (did you mean 'ids'?)
    """
    value = _parse_json(body)
    if not isinstance(value, dict):
        raise RequestError(422, f"the body must be a JSON object (got {_name(value)})")
    for field, most in (
        ("ids", limits.max_nodes),
        ("nodes", limits.max_nodes),
        ("edges", limits.max_edges),
    ):
        items = value.get(field)
        if isinstance(items, list) and len(items) > most:
            raise RequestError(
                413,
                f"{field} must have at most {most} entries (got {len(items)}); send several"
                " requests",
            )
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise RequestError(422, _sentence(error, kind, value)) from None


def _parse_json(body: bytes) -> Any:
    try:
        value = json.loads(
            body.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite_float
        )
        # half of a character: JSON can spell it, UTF-8 can't
        if _SURROGATE in body.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RequestError:
        raise
    except RecursionError:
        raise RequestError(400, "the body must be JSON (got one that is nested too deep)") from None
    except UnicodeError:
        raise RequestError(400, "the body must be JSON in UTF-8 (got other bytes)") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise RequestError(400, f"the body must be JSON (got {error.msg} at {where})") from None
    except ValueError:
        raise RequestError(400, "numbers must have fewer than 4300 digits (got more)") from None
    return value


def _no_constant(name: str) -> NoReturn:
    raise RequestError(400, f"numbers must be finite (got {name}); null is a missing value")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _no_constant(text if len(text) < _SHOWN else "one that is too large")
    return value


def _sentence(error: ValidationError, kind: type[Tables], value: dict[str, Any]) -> str:
    (first, *_) = error.errors(include_url=False, include_context=False)
    field, *path = first["loc"]
    known = kind.model_fields
    if field not in known:
        return f"there is no field {_shown(field)}{did_you_mean(str(field)[:_SHOWN], known)}"
    rule = f"{field} must be {known[str(field)].description}"
    if field not in value:
        return f"{rule} (got none)"
    if path and isinstance(path[0], int):
        return f"{rule} (got {_shown(value[str(field)][path[0]])} at index {path[0]})"
    return f"{rule} (got {_name(value[str(field)])})"


def _name(value: Any) -> str:
    return _NAMES.get(type(value), "a number")


def _shown(value: Any) -> str:
    if isinstance(value, dict | list) and len(value) > 3:
        return f"{_name(value)} of {len(value)} entries"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{_name(value)} that begins {text[:_SHOWN]}"
