"""The command ``serve`` as a process of its own: load, wrong bodies, memory, Ctrl-C."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from herofilter.predict import Predictor
from herofilter.serve import Service
from herofilter.serve.bodies import ExplainRequest, PredictRequest
from tests.serve.models import new_tables

pytestmark = pytest.mark.slow
MIB = 2**20
JSON = {"Content-Type": "application/json"}


@contextmanager
def served(folder: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start the service on a free port and yield its address."""
    command = [sys.executable, "-m", "herofilter", "serve", "model", "--port", "0", *words]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://[^,]+:\d+", line)
        assert found, line + process.communicate(timeout=60)[1]
        yield found[0], process
    finally:
        process.kill()
        process.wait()


def stop(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Press Ctrl-C; return the exit code and the error output."""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    return process.returncode, err


BAD: list[tuple[bytes, dict[str, str], int]] = [
    (b"no JSON", JSON, 400),
    (b'{"ids": 7}', JSON, 422),
    (b'{"ids": [null]}', JSON, 422),
    (b'{"nodes": [{"id": 1, "age": NaN}], "edges": []}', JSON, 400),
    (b'{"nodes": [{"id": 1, "age": Infinity}]}', JSON, 400),
    (b'{"ids": ["user:1"], "verbose": true}', JSON, 422),
    (b"[" * 50_000, JSON, 400),
    (b'{"nodes": [{"id": 1, "age": ' + b"[" * 500 + b"]" * 500 + b"}]}", JSON, 400),
    (b'{"ids": ["nobody"]}', JSON, 400),
    (b'{"ids": ["\\u0000; DROP TABLE nodes", "../../etc/passwd"]}', JSON, 400),
    (b'{"ids": ["' + b"\xff" * 10 + b'"]}', JSON, 400),
    (b"{}", {"Content-Type": "text/plain"}, 415),
    (b'{"ids": [' + b"1," * 20_000 + b"1]}", JSON, 413),
    (b'{"edges": [' + b"[1,1,1]," * 90_000 + b"[1]]}", JSON, 422),
    (b" " * (20 * MIB), JSON, 413),
]


def test_a_mixed_load_is_answered_correctly(served_folder: Path) -> None:
    service, tables = Service(Predictor.load(served_folder / "model")), new_tables(served_folder)
    good: list[tuple[str, dict[str, Any], Any]] = [
        ("/predict", body, service.predict(PredictRequest.model_validate(body)))
        for body in ({"ids": ["user:7"]}, {}, tables)
    ]
    for body in ({"id": "user:7"}, {"id": "user:111", **tables}):
        good.append(("/explain", body, service.explain(ExplainRequest.model_validate(body))))
    with served(served_folder) as (url, process):
        measured = psutil.Process(process.pid)
        with httpx.Client(base_url=url, timeout=60) as client:

            def ask(number: int) -> str | None:
                """Return what is wrong with an answer, None if nothing is."""
                if number % 2:
                    content, headers, status = BAD[number // 2 % len(BAD)]
                    path = ("/predict", "/explain")[number // 2 // len(BAD) % 2]
                    answer = client.post(path, content=content, headers=headers)
                    ok = answer.status_code in (status, 422)
                    ok = ok and list(answer.json()) == ["error"] and len(answer.content) < 2500
                    return None if ok else f"{content[:60]!r}: {answer.status_code} {answer.text}"
                path, body, wanted = good[number // 2 % len(good)]
                answer = client.post(path, json=body)
                same = answer.status_code == 200 and answer.json() == json.loads(json.dumps(wanted))
                return None if same else f"{path} {str(body)[:60]}: {answer.text[:300]}"

            assert [ask(number) for number in range(20)] == [None] * 20
            before = measured.memory_info().rss
            with ThreadPoolExecutor(8) as pool:
                found = list(pool.map(ask, range(200)))
            assert [each for each in found if each] == []
            assert measured.memory_info().rss - before < 400 * MIB
            assert client.get("/health").json()["status"] == "ok"
        code, err = stop(process)
    assert (code, err) == (0, "")


def test_a_client_that_leaves_or_stalls_stops_nobody(served_folder: Path) -> None:
    with served(served_folder, "--max-nodes", "5") as (url, process):
        address = (httpx.URL(url).host, int(httpx.URL(url).port or 0))
        head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        stalled = [socket.create_connection(address) for _ in range(4)]
        for connection in stalled:
            connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
        stalled.pop().close()
        with socket.create_connection(address) as rude:
            rude.sendall(b"\x00\x01 nonsense\r\n\r\n")
        time.sleep(0.2)
        answer = httpx.post(f"{url}/predict", json={"ids": ["user:1"]}, timeout=30)
        assert len(answer.json()["predictions"]) == 1
        assert httpx.get(f"{url}/health").json()["limits"]["max_nodes"] == 5
        for connection in stalled:
            connection.close()
        code, err = stop(process)
    assert code == 0
    assert "Traceback" not in err


def test_an_address_in_use_is_one_sentence(served_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "herofilter", "serve", "model", "--port", port],
            cwd=served_folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (done.returncode, done.stdout) == (2, "")
    said = f"error: the address 127.0.0.1:{port} must be free and of this machine (Address already"
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_other_addresses_get_a_note(served_folder: Path) -> None:
    with served(served_folder, "--host", "0.0.0.0") as (url, process):
        port = httpx.URL(url).port
        assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
        code, err = stop(process)
    assert code == 0
    said = "note: other machines can reach http://0.0.0.0:"
    assert err.startswith(said)
    assert err.endswith(", and the service asks nobody for a password\n")
