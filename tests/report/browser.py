"""A real browser for tests of pages: Debian's chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
AXE = Path(__file__).parent / "axe" / "axe.min.js"


@contextmanager
def browser() -> Iterator[Any]:
    """Start a browser; skip the test with the reason where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright isn't installed (pip install playwright)"
    )
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on this machine (apt-get install chromium)")
    with playwright.sync_playwright() as control:
        found = control.chromium.launch(executable_path=path, args=list(_OPTIONS))
        try:
            yield found
        finally:
            found.close()


class OpenPage:
    """A page in a browser, with all that went wrong on it and all that it asked the network for."""

    def __init__(self, found: Any, path: Path, drawn: bool = True, **options: Any) -> None:
        self.context = found.new_context(**options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        if drawn and options.get("java_script_enabled", True):
            self.wait(options.get("color_scheme", "light"))

    def wait(self, scheme: str) -> None:
        """Wait until all charts are drawn in the colours of a scheme."""
        self.page.wait_for_selector(f"html[data-drawn={scheme}]", state="attached")

    def axe(self) -> list[str]:
        """Return the serious and critical findings of axe-core."""
        # of the test, not of the page, whose policy allows no other script
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run()")
        return [
            f"{entry['id']}: {entry['nodes'][0]['html'][:120]}"
            for entry in found["violations"]
            if entry["impact"] in ("serious", "critical")
        ]

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)
