"""The description on a package index: README.md, whose links there lead to the repository."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OWNER_AND_NAME = PROJECT["urls"]["Homepage"].removeprefix("https://github.com/")
TAG = f"v{PROJECT['version']}"


def absolute(link: re.Match[str]) -> str:
    """Return a link or image of README.md with the address that it has in the tagged release."""
    is_image, text, target = link.groups()
    if re.match(r"[a-z]+:|#", target):
        return link[0]
    host, kind = "https://github.com", f"blob/{TAG}"
    if is_image:
        host, kind = "https://raw.githubusercontent.com", TAG
    return f"{is_image}[{text}]({host}/{OWNER_AND_NAME}/{kind}/{target})"


setup(
    long_description=re.sub(
        r"(!?)\[([^\]]*)\]\(([^()\s]+)\)",
        absolute,
        (ROOT / "README.md").read_text(encoding="utf-8"),
    ),
    long_description_content_type="text/markdown",
)
