"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

python .ci/floors.py tables,serve
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
FLOOR = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=([0-9.]+)")


def floors(parts: list[str]) -> dict[str, str]:
    """Return the least version of each dependency of the package and of some optional parts."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    found: dict[str, str] = {}
    for needed in [*project["dependencies"], *(each for part in parts for each in optional[part])]:
        match = FLOOR.fullmatch(needed)
        if match is None:
            raise SystemExit(
                f"a dependency must say its oldest version, as in 'a>=1.2' (got {needed!r})"
            )
        name, version = match.groups()
        found[name] = max(version, found.get(name, version), key=_numbers)
    return found


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    for name, version in floors(sys.argv[1].split(",")).items():
        print(f"{name}=={version}")
