"""Faults of a running service: kills, its address taken, a full cache; it must answer as before."""

import json
import os
import random
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.faults_work import Ended, start, wait

NAME = "serve"
_LONGEST = 60.0
_ASKED = {"ids": [3, 4]}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Serving:
    """A service on a port of its own, started in the folder of a trial."""

    def __init__(self) -> None:
        self.port = free_port()
        self.words = ("serve", "../model", "--port", str(self.port))

    @contextmanager
    def running(self, place: Path) -> Iterator[tuple[Any, float]]:
        """Start it; yield what it answers, and after how many seconds; then kill it."""
        began, child = time.perf_counter(), start(self.words, place)
        try:
            yield self.answer(), time.perf_counter() - began
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def answer(self) -> Any:
        """Return the answer to a request, as soon as there is one."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/predict",
            data=json.dumps(_ASKED).encode(),
            headers={"Content-Type": "application/json"},
        )
        until = time.perf_counter() + _LONGEST
        while True:
            try:
                with urllib.request.urlopen(request, timeout=_LONGEST) as reply:  # nosec B310
                    return json.load(reply)
            except urllib.error.HTTPError as error:
                return {"status": error.code, "said": error.read().decode()[:500]}
            except OSError as error:
                if time.perf_counter() > until:
                    return {"said": f"no answer ({error})"}
                time.sleep(0.02)

    def second(self, place: Path) -> Ended:
        """Start the same command while it is running; return how that ended."""
        return wait(start(self.words, place), place, _LONGEST)

    def killed(self, place: Path, draw: random.Random, seconds: float) -> Ended:
        """Start it and kill it at a random moment until it answers, or a little later."""
        return wait(start(self.words, place), place, draw.uniform(0.0, 1.5 * seconds))
