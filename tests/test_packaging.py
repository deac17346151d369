"""What is declared is what is used: dependencies, versions, links, the image, the workflows."""

import ast
import json
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import herofilter
from herofilter.cli import app
from tests.test_docs import links

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
# distributions that are imported under another name
IMPORTED_AS = {"pyyaml": "yaml", "scikit-learn": "sklearn", "mlflow-skinny": "mlflow"}

FLOORS = ROOT / ".ci" / "floors.py"
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")


def module_of(requirement: str) -> str:
    """Return the name under which a required distribution is imported."""
    name = re.split(r"[\[<>=!~; ]", requirement)[0].lower()
    return IMPORTED_AS.get(name, name.replace("-", "_"))


CORE = {module_of(each) for each in PROJECT["dependencies"]}


def is_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(node: ast.AST, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the packages that a module imports, and whether a function does it when called."""
    for child in ast.iter_child_nodes(node):
        if is_types_only(child):
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name.partition(".")[0], inside) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module and not child.level:
            yield child.module.partition(".")[0], inside
        elif isinstance(child, ast.Call) and ast.unparse(child.func).endswith("import_module"):
            (name, *_) = child.args
            if isinstance(name, ast.Constant):
                yield name.value.partition(".")[0], inside
        is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from imported(child, inside or is_function)


def package_imports() -> Iterator[tuple[str, str, bool]]:
    for path in sorted((ROOT / "herofilter").rglob("*.py")):
        for name, inside in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if name not in sys.stdlib_module_names and name != "herofilter":
                yield path.relative_to(ROOT).as_posix(), name, inside


def test_imports_are_found() -> None:
    text = "import a.b\nif TYPE_CHECKING:\n    import c\n"
    text += "def f():\n    from d.e import g\n    import_module('h.i')\n"
    assert list(imported(ast.parse(text))) == [("a", False), ("d", True), ("h", True)]


def test_every_import_is_declared() -> None:
    declared = CORE | {module_of(each) for part in OPTIONAL.values() for each in part}
    undeclared = {f"{path}: {name}" for path, name, _ in package_imports() if name not in declared}
    assert undeclared == set()


def test_optional_parts_are_imported_when_they_are_needed() -> None:
    # the service is a part of its own, which `herofilter serve` imports after it has checked
    wrong = {
        f"{path}: {name}"
        for path, name, inside in package_imports()
        if name not in CORE and not inside and not path.startswith("herofilter/serve/")
    }
    assert wrong == set()


def test_nothing_is_declared_that_nothing_imports() -> None:
    used = {name for _, name, _ in package_imports()}
    assert CORE - used == set()


def test_the_service_imports_only_what_its_part_brings() -> None:
    brought = CORE | {module_of(each) for each in OPTIONAL["serve"]}
    used = {name for path, name, _ in package_imports() if path.startswith("herofilter/serve/")}
    assert used - brought == set()


def test_no_private_name_of_torch_is_used() -> None:
    private = re.compile(
        r"torch(\.\w+)*\._[a-z]|from torch[\w.]*\._|\._make_\w+subclass|\._schema\b"
    )
    found = {
        path.relative_to(ROOT).as_posix(): match[0]
        for path in (ROOT / "herofilter").rglob("*.py")
        if (match := private.search(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_versions_agree() -> None:
    version = PROJECT["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert herofilter.__version__ == citation["version"] == version
    assert f"## [{version}] - {citation['date-released']}\n" in changes
    assert citation["repository-code"] == PROJECT["urls"]["Homepage"]
    assert len(citation["preferred-citation"]["authors"]) == 8


def test_links_of_the_package_page_lead_to_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    setuptools = pytest.importorskip("setuptools")
    given: dict[str, str] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: given.update(options))
    runpy.run_path(str(ROOT / "setup.py"))
    page = given["long_description"]
    assert links(page) == []
    release = f"{PROJECT['urls']['Homepage']}/blob/v{PROJECT['version']}"
    raw = release.replace("github.com", "raw.githubusercontent.com").replace("/blob", "")
    assert f"![Accuracy and homophily against heterophily]({raw}/docs/demo.png)" in page
    assert f"[docs/index.md]({release}/docs/index.md)" in page
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(rf"{re.escape(release)}|{re.escape(raw)}", page)) == len(links(readme))


def test_parts_that_are_named_exist() -> None:
    texts = [*(ROOT / "docs").glob("*.md"), *(ROOT / "herofilter").rglob("*.py")]
    texts += [*(ROOT / "examples").glob("*.py"), ROOT / "README.md", ROOT / "Makefile"]
    named = {
        part
        for path in texts
        for parts in re.findall(r"(?:herofilter|\.)\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
        for part in parts.split(",")
    }
    assert {"pictures", "tables", "serve", "dev"} <= named
    assert named - OPTIONAL.keys() == set()


def test_oldest_versions() -> None:
    done = subprocess.run(
        [sys.executable, FLOORS, "test,pictures,tables,serve,ray,bench"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(line.split("==") for line in done.stdout.splitlines())
    assert {module_of(name) for name in found} >= CORE
    torch = next(each for each in PROJECT["dependencies"] if each.startswith("torch>="))
    assert found["torch"] == torch.removeprefix("torch>=")
    done = subprocess.run([sys.executable, FLOORS, "dev"], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        "a dependency must say its oldest version, as in 'a>=1.2' (got 'herofilter[" in done.stderr
    )


def instructions(word: str) -> list[str]:
    return re.findall(rf"^{word} +(.+)$", DOCKERFILE, re.MULTILINE)


def test_the_image_copies_what_is_there_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for line in instructions("COPY"):
        if line.startswith("--from"):
            continue
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in ignored, source
    needed = {"setup.py", "README.md", *PROJECT["license-files"][:1], "constraints.txt"}
    assert needed <= {word for line in instructions("COPY") for word in line.split()}


def test_the_image_installs_parts_that_exist_and_serves_as_a_plain_user() -> None:
    (parts,) = re.findall(r'"\.\[([a-z,]+)\]"', DOCKERFILE)
    assert "serve" in parts.split(",")
    assert set(parts.split(",")) <= OPTIONAL.keys()
    (user,) = instructions("USER")
    assert re.search(rf"useradd .*\b{user}$", DOCKERFILE, re.MULTILINE)
    assert user != "root"
    assert DOCKERFILE.index("\nUSER") < DOCKERFILE.index("\nENTRYPOINT")


@pytest.mark.part("serve")
def test_the_image_serves_and_is_healthy_at_the_same_address() -> None:
    (entry,), (words,) = instructions("ENTRYPOINT"), instructions("CMD")
    assert json.loads(entry) == list(PROJECT["scripts"])
    command, model, *options = json.loads(words)
    group = typer.main.get_command(app)
    known = {word for option in group.commands[command].params for word in option.opts}
    given = dict(zip(options[::2], options[1::2], strict=True))
    assert given.keys() <= known
    (volume,) = re.findall(r":(/\w+):ro", DOCKERFILE)
    assert model == volume
    (check,) = re.findall(r"HEALTHCHECK .*?CMD (\[.+\])", DOCKERFILE)
    _, _, code = json.loads(check)
    compile(code, "HEALTHCHECK", "exec")
    (port, path) = re.findall(r"127\.0\.0\.1:(\d+)(/\w+)", code)[0]
    assert [port] == instructions("EXPOSE") == [given["--port"]]
    source = (ROOT / "herofilter" / "serve" / "app.py").read_text(encoding="utf-8")
    assert f'"{path}"' in source


def workflow_commands() -> Iterator[list[str]]:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            variants = job.get("strategy", {}).get("matrix", {}).get("include", [{}])
            for step in job["steps"]:
                for variant in variants if "run" in step else ():
                    text = step["run"].replace("${{ matrix.target }}", variant.get("target", ""))
                    yield shlex.split(text)


def test_workflows_run_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {words[1] for words in workflow_commands() if words[0] == "make"}
    assert {"check", "test", "check-wheel", "test-floor", "test-newest", "test-core"} <= named
    assert named <= targets


def test_tests_run_on_every_python_that_is_promised() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    tried = yaml.safe_load(text)["jobs"]["test"]["strategy"]["matrix"]["python"]
    promised = [
        each.split(" :: ")[-1] for each in PROJECT["classifiers"] if ":: Python :: 3." in each
    ]
    assert tried == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
