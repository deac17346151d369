"""Data flows one way: a room imports only from rooms to its left."""

import ast
from pathlib import Path

import herofilter

PACKAGE = Path(herofilter.__file__).parent
ROOMS = [
    "data",
    "measures",
    "spectral",
    "theory",
    "patchers",
    "nn",
    "baselines",
    "training",
    "predict",
]
FREE = {"distributed", "reproduce", "report", "serve", "cli", "estimator"}
GROUND = {
    "callbacks",
    "config",
    "devices",
    "errors",
    "files",
    "folders",
    "harmless",
    "jit",
    "lazy_names",
    "memory",
    "parallel",
    "scratch",
    "settings",
}
# scikit-network's lesson: linear algebra and the kernel know nothing of layers or the terminal
FORBIDDEN = {
    "spectral": {"torch.nn", "typer", "rich"},
    "theory": {"torch.nn", "typer", "rich"},
    "patchers/ppr": {"torch.nn", "typer", "rich"},
    "patchers/relations.py": {"torch.nn", "typer", "rich"},
    "data": {"torch.nn", "typer", "rich"},
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_rooms_import_only_to_the_left() -> None:
    wrong = []
    for position, room in enumerate(ROOMS):
        allowed = {*ROOMS[: position + 1], *GROUND}
        # the mixer's trainer has no business with measures, and measures none with training
        for path in (PACKAGE / room).rglob("*.py"):
            for name in imports(path):
                parts = name.split(".")
                if parts[0] == "herofilter" and len(parts) > 1 and parts[1] not in allowed:
                    wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert wrong == []


def test_ground_floor_stands_alone() -> None:
    for name in GROUND:
        path = PACKAGE / name
        files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
        used = {i for file in files for i in imports(file) if i.startswith("herofilter.")}
        assert all(i.split(".")[1] in GROUND for i in used), used


def test_every_folder_is_a_known_room() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == {*ROOMS, *FREE, "parallel", "presets"}


def test_presets_are_data_and_no_room() -> None:
    assert {path.suffix for path in (PACKAGE / "presets").iterdir()} <= {".yaml"}


def test_linear_algebra_knows_no_layers_and_no_terminal() -> None:
    for place, names in FORBIDDEN.items():
        path = PACKAGE / place
        for file in [path] if path.is_file() else path.rglob("*.py"):
            bad = {
                i for i in imports(file) for name in names if i == name or i.startswith(name + ".")
            }
            assert not bad, f"{file}: {bad}"
