"""The page that describes the service, from its OpenAPI description and nothing from elsewhere."""

import json
import shlex
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from jinja2 import Environment


def describe_bodies(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the part of an OpenAPI description that says what a request's body is."""
    schema = kind.model_json_schema()
    definitions = schema.pop("$defs", {})
    content = {"application/json": {"schema": _inlined(schema, definitions)}}
    return {"requestBody": {"required": True, "content": content}}


def _inlined(value: Any, definitions: dict[str, Any]) -> Any:
    """Put definitions in the place of references to them, which hold in their own file only."""
    if isinstance(value, list):
        return [_inlined(each, definitions) for each in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(definitions[value["$ref"].rpartition("/")[2]], definitions)
    return {key: _inlined(each, definitions) for key, each in value.items()}


def render_page(openapi: dict[str, Any], health: dict[str, Any], url: str, node: str | int) -> str:
    """Return the page: what is served, each request with its fields, its answers, an example.

    Args:
        openapi: the description of all requests.
        health: what ``/health`` answers.
        url: of the service, for the examples.
        node: the id of a node, for the examples.
    """
    examples: dict[str, dict[str, Any]] = {"/predict": {"ids": [node]}, "/explain": {"id": node}}
    requests = [
        {
            "method": method.upper(),
            "path": path,
            "summary": entry["summary"],
            "fields": _fields(entry),
            "example": _command(url + path, examples[path]) if path in examples else None,
            "answers": {code: said["description"] for code, said in entry["responses"].items()},
        }
        for path, methods in openapi["paths"].items()
        for method, entry in methods.items()
    ]
    page: str = _templates().get_template("docs.html").render(requests=requests, health=health)
    return page


def _command(url: str, body: dict[str, Any]) -> str:
    words = ("curl", "-H", "Content-Type: application/json", "-d", json.dumps(body), url)
    return shlex.join(words)


def _fields(entry: dict[str, Any]) -> list[dict[str, Any]]:
    if "requestBody" not in entry:
        return []
    schema = entry["requestBody"]["content"]["application/json"]["schema"]
    needed = schema.get("required", [])
    return [
        {"name": name, "needed": name in needed, "about": field["description"]}
        for name, field in schema["properties"].items()
    ]


@lru_cache(maxsize=1)
def _templates() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent / "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
