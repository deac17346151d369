"""The API reference has every public name, once, and each has a docstring."""

import importlib
from pathlib import Path

import pytest

from docsite.public_names import defined_at, docstring, public_names, public_packages
from docsite.reference import PAGES, documented, expand, reference_faults


def test_the_reference_is_complete() -> None:
    assert reference_faults() == []
    assert len(documented()) > 200


def test_the_public_names_are_those_that_can_be_imported() -> None:
    for package in public_packages():
        module = importlib.import_module(package)
        # a package that is a public name has a stub, and so names of its own
        packages = {name for name in module.__all__ if f"{package}.{name}" in public_packages()}
        assert set(public_names(package)) == set(module.__all__) - packages


@pytest.mark.any_part
@pytest.mark.parametrize("package", public_packages())
def test_a_name_is_defined_where_the_stub_leads(package: str) -> None:
    for name, path in public_names(package).items():
        module, _, defined = path.rpartition(".")
        found = getattr(importlib.import_module(module), defined)
        assert found is getattr(importlib.import_module(package), name)
        assert getattr(found, "__module__", module) in (module, "builtins")


def test_what_is_wrong_with_a_reference_is_found(tmp_path: Path) -> None:
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8").replace("::: herofilter.theory.align\n", "")
        (tmp_path / page.name).write_text(text, encoding="utf-8")
    (tmp_path / "more.md").write_text("::: herofilter.Config\n\n::: herofilter.cli.fit._USUAL\n")
    assert reference_faults(tmp_path) == [
        "herofilter.cli.fit._USUAL has no docstring",
        "herofilter.config.Config is documented 2 times",
        "herofilter.theory.align has no entry in the API reference",
    ]


def test_a_path_that_leads_nowhere_is_an_error() -> None:
    assert defined_at("herofilter.errors.GraphError") == "herofilter.errors.GraphError"
    with pytest.raises(LookupError, match="must be defined in the source"):
        docstring("herofilter.errors.NoSuchError")


def test_directives_and_tables() -> None:
    pytest.importorskip("griffe")
    shown = expand("::: herofilter.Config\n\n<!-- names of herofilter.estimator -->\n")
    assert '<span id="herofilter.Config"></span>\n\n::: herofilter.config.Config\n' in shown
    row = "| [`HeroFilterClassifier`][herofilter.estimator.classifier.HeroFilterClassifier] | A "
    assert row in shown
