"""Tests of optional parts are skipped, with the reason, where a part isn't installed."""

import ast
from importlib.util import find_spec
from pathlib import Path

# what each part brings, by the name under which it is imported
PARTS = {
    "pictures": ("matplotlib",),
    "tables": ("sklearn",),
    "serve": ("fastapi", "uvicorn", "starlette", "pydantic"),
    "onnx": ("onnx", "onnxscript", "onnxruntime"),
    "ray": ("ray",),
    "mlflow": ("mlflow",),
    "tensorboard": ("tensorboard",),
    "docs": ("mkdocs", "mkdocstrings"),
    "dev": ("pandas", "httpx", "playwright", "networkx", "nbclient", "nbformat"),
}


def absent(part: str) -> str:
    """Return why tests of a part can't run, or nothing if they can."""
    missing = [name for name in PARTS[part] if find_spec(name) is None]
    return f"needs the optional part {part!r}, without {', '.join(missing)}" if missing else ""


def absent_module(name: str) -> str:
    """Return why a module that a part brings can't be imported, or nothing."""
    root = name.partition(".")[0]
    return next((absent(part) for part, modules in PARTS.items() if root in modules), "")


def absent_import(path: Path) -> str:
    """Return why a module of tests can't be imported: what it imports first of all isn't there."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        roots = {name.partition(".")[0] for name in names}
        for part, modules in PARTS.items():
            if any(root in modules and find_spec(root) is None for root in roots):
                return absent(part)
    return ""
