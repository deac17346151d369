"""The public names of the package, where each is defined, and what its docstring says.

Everything is read from the source files, so that nothing has to be imported.
"""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "herofilter"


def public_packages() -> list[str]:
    """Return the packages that list public names in a stub."""
    stubs = sorted((ROOT / PACKAGE).rglob("__init__.pyi"))
    return [".".join(stub.parent.relative_to(ROOT).parts) for stub in stubs]


@cache
def public_names(package: str) -> dict[str, str]:
    """Return the public names of a package, each with the path at which it is defined.

    Example:
        >>> public_names("herofilter")["HeroFilter"]
        'herofilter.nn.herofilter.HeroFilter'
    """
    names: dict[str, str] = {}
    for node in ast.parse(_stub(package).read_text(encoding="utf-8")).body:
        # "from . import baselines" names a package, which has a stub of its own
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = alias.asname or alias.name
                names[name] = definition(f"{package}.{node.module}", alias.name)
    return names


def definition(module: str, name: str) -> str:
    """Return the path at which a name is defined, through the files that pass it on."""
    if _stub(module).exists():
        return public_names(module)[name]
    for node in _body(module):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return definition(node.module, alias.name)
    return f"{module}.{name}"


def defined_at(path: str) -> str:
    """Return where a public name is defined; a path that is none stays as it is.

    Example:
        >>> defined_at("herofilter.theory.align")
        'herofilter.theory.alignment.align'
    """
    package, _, name = path.rpartition(".")
    return public_names(package).get(name, path) if _stub(package).exists() else path


def docstring(path: str) -> str | None:
    """Return the docstring of what is defined at a path: a class, a function or a constant.

    Example:
        >>> docstring("herofilter.theory.alignment.align").splitlines()[0][:6]
        'Return'
    """
    module, _, name = path.rpartition(".")
    body = _body(module)
    for node, following in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.ClassDef() | ast.FunctionDef() if node.name == name:
                return ast.get_docstring(node)
            case (
                ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found))
            ) if found == name:
                match following:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        return text
                return None
    raise LookupError(f"{path} must be defined in the source (nothing of that name is there)")


def summary(path: str) -> str:
    """Return the first sentence or paragraph of a docstring, in one line."""
    paragraph = " ".join((docstring(path) or "").split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".") + "."


def _stub(package: str) -> Path:
    return ROOT.joinpath(*package.split("."), "__init__.pyi")


@cache
def _body(module: str) -> list[ast.stmt]:
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8")).body
