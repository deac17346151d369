"""Findings of bandit in the package, and the licences of what it depends on.

python -m benchmarks.audit [--write]
"""

import argparse
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from herofilter.files import write_json

RESULT = Path("results/audit.json")
_SHOWN = ("test_id", "issue_severity", "filename", "line_number", "issue_text")
# free licences that ask nothing of those who only use the package
_FREE = re.compile(
    r"\b(mit|bsd|0bsd|apache|isc|python software|psf|mpl|mozilla|unlicense|zlib|hpnd|cc0)\b",
    re.IGNORECASE,
)


def dependencies(name: str) -> list[str]:
    """Return the installed distributions that one needs, directly or not, without its extras."""
    found, waiting = set(), [name]
    while waiting:
        for needed in importlib.metadata.requires(waiting.pop()) or ():
            plain, _, marker = needed.partition(";")
            words = re.match(r"[A-Za-z0-9._-]+", plain)
            if words is None or "extra" in marker:
                continue
            key = re.sub(r"[-_.]+", "-", words[0]).lower()
            try:
                importlib.metadata.distribution(key)
            except importlib.metadata.PackageNotFoundError:
                # for other systems
                continue
            if key not in found:
                found.add(key)
                waiting.append(key)
    return sorted(found)


def licence(name: str) -> str:
    """Return the licence of an installed distribution in a few words."""
    facts = importlib.metadata.metadata(name)
    classes = [each for each in facts.get_all("Classifier") or () if "License" in each]
    listed = ", ".join(dict.fromkeys(each.split("::")[-1].strip() for each in classes))
    expression, text = (
        "".join(facts.get_all(key) or ()) for key in ("License-Expression", "License")
    )
    return (expression or listed or text or "unknown").splitlines()[0][:80]


def run_audit() -> dict[str, Any]:
    """Return bandit's findings and the licences."""
    words = [sys.executable, "-m", "bandit", "-q", "-r", "herofilter"]
    told = subprocess.run([*words, "-f", "json"], capture_output=True, text=True, check=False)
    found = json.loads(told.stdout)["results"]
    findings = [{key: each[key] for key in _SHOWN} for each in found]
    licences = {name: licence(name) for name in dependencies("herofilter")}
    return {
        "command": "python -m benchmarks.audit",
        "findings": findings,
        "licences": licences,
        "not_free": sorted(name for name, said in licences.items() if not _FREE.search(said)),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}")
    options = parser.parse_args(arguments)
    result = run_audit()
    if options.write:
        write_json(RESULT, result)
    print(json.dumps(result, indent=1))
    if result["findings"] or result["not_free"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
