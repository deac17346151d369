from pathlib import Path

import pytest

from tests import optional_parts
from tests.optional_parts import absent, absent_import, absent_module


@pytest.fixture
def _nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_parts, "find_spec", lambda name: None)


@pytest.mark.usefixtures("_nothing_installed")
def test_what_is_absent_is_named() -> None:
    assert absent("tables") == "needs the optional part 'tables', without sklearn"


@pytest.mark.usefixtures("_nothing_installed")
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("import math\nfrom sklearn.base import clone\n", "tables"),
        ("import numpy, pandas.api as api\n", "dev"),
        ("def test() -> None:\n    import pandas\n", None),
        ("from .sklearn import clone\n", None),
    ],
)
def test_imports_at_the_top_count(tmp_path: Path, text: str, part: str | None) -> None:
    module = tmp_path / "test_it.py"
    module.write_text(text)
    assert absent_import(module) == ("" if part is None else absent(part))


def test_what_is_installed_is_not_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_parts, "find_spec", lambda name: object())
    module = tmp_path / "test_it.py"
    module.write_text("import pandas\n")
    assert (absent("tables"), absent_import(module)) == ("", "")


def test_only_modules_of_parts_may_be_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_parts, "find_spec", lambda name: None)
    assert absent_module("sklearn.svm") == "needs the optional part 'tables', without sklearn"
    assert absent_module("herofilter.serve") == ""
    assert absent_module("") == ""
