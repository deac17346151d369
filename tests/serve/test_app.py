"""The contract of the service: answers of the command line, one sentence for every mistake."""

import asyncio
import html
import json
import os
import re
import shlex
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response

import herofilter
from herofilter.data.tables.read_graph import read_tables
from herofilter.data.tables.table_columns import TableColumns
from herofilter.errors import RunError
from herofilter.predict import Predictor
from herofilter.serve import Limits, Service, app as app_module, create_app, request_body
from herofilter.serve.bodies import HealthAnswer, PredictAnswer, PredictRequest
from tests.cli.test_cli import Cli, cli as cli
from tests.serve.models import MODELS, fit_graph, fit_tables, new_tables, rows
from tests.user_tables import COLUMNS, NAMES

JSON = {"Content-Type": "application/json"}


def start(model: Path, limits: Limits | None = None) -> TestClient:
    service = Service(Predictor.load(model), limits or Limits())
    return TestClient(create_app(service), raise_server_exceptions=True)


@pytest.fixture(scope="module")
def client(served_folder: Path) -> TestClient:
    return start(served_folder / "model")


def as_csv(answer: Response) -> list[dict[str, str]]:
    """Return predictions as the rows of a file, all text."""
    assert answer.status_code == 200, answer.text
    return [
        {
            "id": str(each["id"]),
            "prediction": each["prediction"],
            "confidence": each["confidence"],
            **each["probabilities"],
        }
        for each in answer.json()["predictions"]
    ]


def from_file(path: Path) -> list[dict[str, Any]]:
    numbers = ("confidence", *NAMES)
    return [
        {"id": row["id"], "prediction": row["prediction"], **{n: float(row[n]) for n in numbers}}
        for row in rows(path)
    ]


def test_health_says_what_is_served(client: TestClient) -> None:
    answer = client.get("/health")
    assert answer.json() == {
        "status": "ok",
        "model": "summary-mixer",
        "classes": list(NAMES),
        "nodes": 110,
        "columns": list(COLUMNS),
        "weighted": False,
        "limits": {"max_nodes": 10_000, "max_edges": 100_000, "max_bytes": 8_388_608},
        "version": herofilter.__version__,
    }
    HealthAnswer.model_validate(answer.json())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name == "neighbour-booster"))
        for name in MODELS
    ],
)
def test_answers_are_those_of_the_command_line(
    cli: Cli, served_folder: Path, tmp_path: Path, name: str
) -> None:
    fit_tables(served_folder, name).save(tmp_path / "model")
    os.symlink(served_folder / "new_edges.csv", tmp_path / "new_edges.csv")
    os.symlink(served_folder / "new_nodes.csv", tmp_path / "new_nodes.csv")
    client, tables = start(tmp_path / "model"), new_tables(served_folder)
    new = ("--edges", "new_edges.csv", "--nodes", "new_nodes.csv")
    assert cli("predict", "model", "--out", "known.csv").code == 0
    noted = cli("predict", "model", *new, "--out", "new.csv", "--json").json()["notes"]

    known = client.post("/predict", json={})
    PredictAnswer.model_validate(known.json())
    assert as_csv(known) == from_file(tmp_path / "known.csv")
    extended = client.post("/predict", json=tables)
    assert as_csv(extended) == from_file(tmp_path / "new.csv")
    assert extended.json()["notes"] == noted
    as_text = {**tables, "nodes": rows(served_folder / "new_nodes.csv")}
    assert client.post("/predict", json=as_text).json() == extended.json()
    as_objects = [{"source": source, "target": target} for source, target in tables["edges"]]
    assert client.post("/predict", json={**tables, "edges": as_objects}).json() == extended.json()

    # requests with tables have left no trace, and one node is answered like all of them
    assert client.post("/predict", json={}).json() == known.json()
    for node, body, more in (("user:42", {}, ()), ("user:110", tables, new)):
        printed = cli("explain", "model", "--node", node, *more, "--json").json()
        assert client.post("/explain", json={"id": node, **body}).json() == printed


def test_nodes_by_their_ids(client: TestClient, served_folder: Path) -> None:
    everyone = client.post("/predict", json={}).json()["predictions"]
    assert [each["id"] for each in everyone] == [f"user:{number}" for number in range(110)]
    asked = ["user:9", "user:3", "user:9"]
    some = client.post("/predict", json={"ids": asked}).json()
    assert some == {"predictions": [everyone[9], everyone[3], everyone[9]], "notes": []}
    assert client.post("/predict", json={"ids": []}).json()["predictions"] == []

    tables = new_tables(served_folder)
    new = client.post("/predict", json=tables).json()
    by_id = {each["id"]: each for each in new["predictions"]}
    both = {**tables, "ids": ["user:111", "user:3", "user:111"]}
    found = client.post("/predict", json=both).json()
    assert [each["id"] for each in found["predictions"]] == both["ids"]
    assert found["predictions"][0] == found["predictions"][2] == by_id["user:111"]
    assert found["notes"] == new["notes"]
    alone = client.post("/predict", json={"edges": tables["edges"][:0], "ids": ["user:3"]})
    assert alone.json()["predictions"] == [everyone[3]]


def test_a_new_column_is_noted_and_a_gap_is_allowed(client: TestClient) -> None:
    node = {"id": 7, "age": "NA", "score": "0.5", "country": " DE ", "tags": "a|b", "topic": "ai"}
    nodes = [{**node, "height": "tall"}, {"id": "8", "score": 0.5, "height": 1}]
    answer = client.post("/predict", json={"nodes": nodes, "edges": [["8", "user:3"]]}).json()
    assert [each["id"] for each in answer["predictions"]] == ["7", "8"]
    assert answer["notes"] == [
        "1 of 2 cells of 'height' isn't a number, such as 'tall'; it counts as missing",
        "the tables add 2 nodes and 1 edges to the graph of training",
        "columns that the model doesn't know aren't used: 'topic'",
    ]


RULE_EDGES = (
    "edges must be a list of pairs [source, target], or of objects with source, target and perhaps "
    "weight "
)
WRONG = {
    "not JSON": (b"ids=1", 400, "the body must be JSON (got Expecting value at line 1, column 1)"),
    "empty": (b"", 400, "the body must be JSON (got Expecting value at line 1, column 1)"),
    "half": (b'{"ids": [', 400, "the body must be JSON (got Expecting value at line 1, column 10)"),
    "not UTF-8": (b'{"ids": ["\xff"]}', 400, "the body must be JSON in UTF-8 (got other bytes)"),
    "half a character": (b'{"ids": ["\\uD800"]}', 400, "the body must be JSON in UTF-8"),
    "NaN": (b'{"nodes": [{"id": 1, "age": NaN}]}', 400, "numbers must be finite (got NaN); null"),
    "Infinity": (b'{"nodes": [{"id": 1, "age": -Infinity}]}', 400, "numbers must be finite"),
    "overflow": (b'{"nodes": [{"id": 1, "age": 1e999}]}', 400, "numbers must be finite (got 1e999"),
    "digits": (b'{"ids": [' + b"9" * 5000 + b"]}", 400, "numbers must have fewer than 4300 digits"),
    "nested": (b'{"ids": ' + b"[" * 100_000, 400, "the body must be JSON (got one that is nested"),
    "a list": (b"[1]", 422, "the body must be a JSON object (got a list)"),
    "a number": (b"1", 422, "the body must be a JSON object (got a number)"),
    "unknown field": (b'{"idz": [1]}', 422, "there is no field 'idz' (did you mean 'ids'?)"),
    "ids as text": (
        b'{"ids": "a"}',
        422,
        "ids must be a list of ids, each text or an integer (got text)",
    ),
    "a boolean id": (
        b'{"ids": ["a", true]}',
        422,
        "ids must be a list of ids, each text or an integer (got True at index 1)",
    ),
    "node without id": (
        b'{"nodes": [{"age": 1}]}',
        422,
        "nodes must be a list of objects, each with an id and the columns of the training table "
        "(got {'age': 1} at index 0)",
    ),
    "three ends": (b'{"edges": [[1, 2], [1, 2, 3]]}', 422, f"{RULE_EDGES}(got [1, 2, 3] at index"),
    "edge of text": (b'{"edges": ["ab"]}', 422, f"{RULE_EDGES}(got 'ab' at index 0)"),
    "edge with more": (
        b'{"edges": [{"source": 1, "target": 2, "kind": 3}]}',
        422,
        f"{RULE_EDGES}(got {{'source': 1, 'target': 2, 'kind': 3}} at index 0)",
    ),
    "no boolean": (b'{"drop_unknown": 1}', 422, "drop_unknown must be true or false: whether"),
    "unknown id": (
        b'{"ids": ["user:1100"]}',
        400,
        "a node must be called by an id of the graph (got 'user:1100') (did you mean 'user:100'?)",
    ),
    "huge id": (b'{"ids": ["' + b"x" * 10**6 + b'"]}', 400, "a node must be called by an id of"),
    "hostile id": (
        b'{"ids": ["\\u0000\\r\\n<script>"]}',
        400,
        "a node must be called by an id of the graph (got '\\x00\\r\\n<script>')",
    ),
    "no columns": (
        b'{"nodes": [{"id": 1}]}',
        400,
        "the nodes must have the column 'age', which the model was trained with (got 'id')",
    ),
    "no rows": (b'{"nodes": []}', 400, "the nodes must have at least one row"),
    "unknown end": (
        b'{"edges": [["user:1", "nobody"]]}',
        400,
        "every id in the edges must have a row in the nodes (got 1 without one, such as 'nobody'; "
        "the first node is 'user:0'); add the rows, drop the edges with drop_unknown, or",
    ),
    "weights": (
        b'{"edges": [{"source": "user:1", "target": "user:2", "weight": 1}]}',
        400,
        "new edges must be like those of training, which have no weights",
    ),
    "huge weight": (
        b'{"edges": [{"source": 1, "target": 2, "weight": 1' + b"0" * 400 + b"}]}",
        400,
        "the weight 'weight' must be finite and not negative for every edge",
    ),
    "empty id": (
        b'{"edges": [["", "user:1"]]}',
        400,
        "every row of the edges must have an id (got 1 without one); fill them in",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_body_gets_one_sentence(client: TestClient, name: str) -> None:
    body, status, sentence = WRONG[name]
    answer = client.post("/predict", content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert answer.json()["error"].startswith(sentence)
    assert len(answer.content) < 2500


def whole(**changes: Any) -> dict[str, Any]:
    node = {"id": "n", "age": 1.5, "score": 1, "height": 1, "country": "DE", "tags": "a|b"}
    return {**node, **changes}


ODD_CELLS = {
    "an object": ({"age": {}}, 400, "the column 'age' must hold text, numbers, true or false, or"),
    "a list": ({"age": [1]}, 400, "the column 'age' must hold numbers, as in the training table"),
    "lists of lists": ({"tags": [[[]]]}, 400, "the column 'tags' must hold text, numbers, true or"),
    "a mixed list": ({"tags": [1, "a"]}, 400, "the lists in the column 'tags' must hold values of"),
    "an object as text": ({"country": {"a": 1}}, 400, "the column 'country' must hold text,"),
    "a boolean": ({"age": True}, 200, ""),
    "a huge integer": ({"age": 10**4000}, 200, ""),
    "a tiny number": ({"age": 1e-320}, 200, ""),
    "a number as text": ({"country": 7.5, "tags": 1}, 200, ""),
    "quotes": ({"country": '"\r\n,"', "age": "\x00", "tags": '",\n|'}, 200, ""),
    "many items": ({"tags": "|" * 100_000}, 200, ""),
    "all gaps": (dict.fromkeys(COLUMNS), 200, ""),
    "a surrogate pair": ({"id": "\U0001f600"}, 200, ""),
    "an id beyond integers": ({"id": 10**30}, 200, ""),
    "an id below zero": ({"id": -1}, 200, ""),
}


@pytest.mark.parametrize("name", ODD_CELLS)
def test_odd_cells_are_read_or_refused(client: TestClient, name: str) -> None:
    changes, status, sentence = ODD_CELLS[name]
    for others in ([], [whole(id="other", age="31")], [whole(id=3, age=4)]):
        body = {"nodes": [whole(**changes), *others], "edges": [["user:1", changes.get("id", "n")]]}
        answer = client.post("/predict", json=body)
        assert answer.status_code == status, answer.text
        # beside numbers or text a list is refused for another reason
        said = sentence if not others else "the column "
        assert status == 200 or answer.json()["error"].startswith(said)
        if status == 200:
            first = answer.json()["predictions"][0]
            assert first["id"] == str(changes.get("id", "n"))
            assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_an_explanation_needs_a_known_id(client: TestClient) -> None:
    answer = client.post("/explain", json={})
    assert answer.status_code == 422
    said = "id must be the id of a node, text or an integer (got none)"
    assert answer.json() == {"error": said}
    assert client.post("/explain", json={"id": "user"}).status_code == 400
    answer = client.post("/explain", json={"id": "user:1", "ids": []})
    assert answer.json() == {"error": "there is no field 'ids' (did you mean 'id'?)"}


def test_limits(served_folder: Path) -> None:
    client = start(served_folder / "model", Limits(max_nodes=2, max_bytes=1000))
    assert client.post("/predict", json={"ids": ["user:1", "user:2"]}).status_code == 200
    pair = ["user:1", "user:2"]
    for body, sentence in (
        ({"ids": ["a"] * 3}, "ids must have at most 2 entries (got 3); send several requests"),
        ({"nodes": [0] * 3}, "nodes must have at most 2 entries (got 3); send several requests"),
        ({"edges": [pair] * 21}, "edges must have at most 20 entries (got 21); send several"),
        ({}, "an answer must have at most 2 predictions (got 110 nodes); name some of them in ids"),
        ({"edges": [pair]}, "an answer must have at most 2 predictions (got 110 nodes)"),
        ({"ids": ["x" * 990]}, "the body must have at most 1000 bytes (got more); send several"),
    ):
        answer = client.post("/predict", json=body)
        assert answer.status_code == 413
        assert answer.json()["error"].startswith(sentence)
    chosen = client.post("/predict", json={"edges": [pair], "ids": ["user:1"]})
    assert len(chosen.json()["predictions"]) == 1


def test_other_requests(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = client.post("/predict", content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 415
        said = f"the Content-Type must be application/json (got {kind or 'none'})"
        assert answer.json() == {"error": said}
    assert client.post(
        "/predict", content=b'{"ids": []}', headers={"Content-Type": "Application/JSON; charset=x"}
    ).json() == {"predictions": [], "notes": []}
    for method, path, status in (("GET", "/predict", 405), ("GET", "/no", 404)):
        answer = client.request(method, path)
        assert answer.status_code == status
        known = "GET /health, POST /predict, POST /explain and GET /docs"
        said = f"a request must be one of {known} (got {method} {path})"
        assert answer.json() == {"error": said}


def test_the_page_and_openapi_need_nothing_from_elsewhere(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    assert set(described["paths"]) == {"/health", "/predict", "/explain"}
    text = json.dumps(described["paths"])
    names = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert names <= set(described["components"]["schemas"])
    assert "$defs" not in text
    for path in ("/docs", "/"):
        answer = client.get(path)
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "<script" not in answer.text
        assert not re.search(r"""(src|href)=["']?(https?:)?//""", answer.text)
        for shown in ("POST /predict", "POST /explain", "GET /health", "drop_unknown", *COLUMNS):
            assert shown in answer.text
    shown = html.unescape(client.get("/docs").text)
    commands = [shlex.split(line) for line in re.findall(r"<pre>(.*)</pre>", shown)]
    for (*_, flag, body, url), path in zip(commands, ("/predict", "/explain"), strict=True):
        assert (flag, url) == ("-d", f"http://testserver{path}")
        assert client.post(path, content=body, headers=JSON).status_code == 200


def test_several_threads_get_the_same_answers(client: TestClient, served_folder: Path) -> None:
    tables = new_tables(served_folder)
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("/predict", {"ids": ["user:1", "user:50"]}),
        ("/predict", tables),
        ("/explain", {"id": "user:7"}),
        ("/explain", {"id": "user:112", **tables}),
        ("/predict", {"ids": ["nobody"]}),
    ]
    wanted = [client.post(path, json=body).json() for path, body in bodies]

    def ask(number: int) -> bool:
        path, body = bodies[number % len(bodies)]
        return bool(client.post(path, json=body).json() == wanted[number % len(bodies)])

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(40)))


def test_a_model_of_a_named_graph_takes_no_tables(cli: Cli, tmp_path: Path) -> None:
    done = cli("train", "karate", "--splits", "0", "--set", "epochs=2", "--out", "run")
    assert done.code == 0, done.err
    client = start(tmp_path / "run" / "split-0")
    assert client.get("/health").json()["columns"] == []
    assert len(client.post("/predict", json={"ids": [0, "33"]}).json()["predictions"]) == 2
    answer = client.post("/predict", json={"nodes": [{"id": 1}]})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("the model must have been fitted on tables")


def test_too_little_memory_is_no_bug(served_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(Predictor.load(served_folder / "model"))

    def fail(_: object) -> dict[str, Any]:
        raise MemoryError

    monkeypatch.setattr(service, "predict", fail)
    answer = TestClient(create_app(service)).post("/predict", json={})
    assert answer.status_code == 503
    assert answer.json()["error"].startswith("a request must fit into memory")


def test_a_bug_is_one_sentence_without_a_traceback(
    served_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(Predictor.load(served_folder / "model"))

    def fail(_: object) -> dict[str, Any]:
        raise RuntimeError("secret")

    monkeypatch.setattr(service, "predict", fail)
    client = TestClient(create_app(service), raise_server_exceptions=False)
    answer = client.post("/predict", json={})
    assert answer.status_code == 500
    said = "the service failed at this request, which is a bug; its log says where"
    assert answer.json() == {"error": said}


def test_only_some_requests_may_wait(served_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(Predictor.load(served_folder / "model"))
    started, go_on = threading.Event(), threading.Event()

    def wait(_: object) -> dict[str, Any]:
        started.set()
        assert go_on.wait(30)
        return {}

    monkeypatch.setattr(service, "predict", wait)
    monkeypatch.setattr(app_module, "MOST_WAITING", 1)
    client = TestClient(create_app(service))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/predict", json={})
        assert started.wait(30)
        # the worker is busy, and yet the service says that it is well
        assert client.get("/health").status_code == 200
        second = client.post("/predict", json={})
        go_on.set()
        assert first.result().json() == {}
    assert second.status_code == 503
    said = "at most 1 requests can wait (got one more); try again soon"
    assert second.json() == {"error": said}
    assert client.post("/predict", json={}).status_code == 200


def ask_directly(client: TestClient, receive: Callable[[], Awaitable[Any]]) -> tuple[int, Any]:
    """Send a request whose body comes as ``receive`` gives it."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/predict", "headers": headers}
    asyncio.run(client.app({**scope, "query_string": b"", "root_path": ""}, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_a_body_that_never_ends(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stall() -> Any:
        await asyncio.sleep(60)

    async def leave() -> Any:
        return {"type": "http.disconnect"}

    async def more() -> Any:
        return {"type": "http.request", "body": b" " * 2**20, "more_body": True}

    monkeypatch.setattr(request_body, "MOST_SECONDS", 0.05)
    status, answer = ask_directly(client, stall)
    assert (status, answer["error"][:33]) == (408, "the body must arrive within 0 s (")
    monkeypatch.undo()
    status, answer = ask_directly(client, leave)
    assert status == 400
    assert answer == {"error": "the body must be sent completely (got a part of it)"}
    status, answer = ask_directly(client, more)
    assert (status, answer["error"][:30]) == (413, "the body must have at most 838")


def test_a_column_called_id_is_refused(served_folder: Path, tmp_path: Path) -> None:
    text = (served_folder / "nodes.csv").read_text()
    lines = [line.split(",", 1) for line in text.splitlines()]
    head, *rest = [f"{name},{name},{cells}" for name, cells in lines]
    renamed = head.replace("id,id,age", "person,name,id")
    (tmp_path / "nodes.csv").write_text("\n".join([renamed, *rest]))
    (tmp_path / "edges.csv").write_text((served_folder / "edges.csv").read_text())
    columns = TableColumns(id="person", label="topic", features=("id", "score"))
    graph = read_tables(tmp_path / "edges.csv", tmp_path / "nodes.csv", columns)
    service = Service(fit_graph(graph, "mlp"))
    assert len(service.predict(PredictRequest(ids=["user:1"]))["predictions"]) == 1
    with pytest.raises(RunError, match="the model must have no column called 'id' beside the ids"):
        service.predict(PredictRequest(nodes=[{"id": "n"}]))
