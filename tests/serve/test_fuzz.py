"""Whatever JSON a client sends, it gets predictions or one sentence, never a failure."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, event, given, settings, strategies as st

from herofilter.predict import Predictor
from herofilter.serve import Service, create_app
from tests.user_tables import COLUMNS

JSON = {"Content-Type": "application/json"}
TEXT = st.text(max_size=8) | st.sampled_from(["user:1", "", "NA", "1", "1.5", "true", "2020-01-31"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
CELLS = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(TEXT, SCALARS, max_size=2)
IDS = st.sampled_from(["user:1", "user:2", "n", "m", 7])
# the right shape, with any values
NODES = st.fixed_dictionaries(
    {"id": IDS, **dict.fromkeys(COLUMNS[1:], SCALARS)}, optional={"age": CELLS, "more": CELLS}
)
EDGES = st.tuples(IDS, IDS) | st.fixed_dictionaries({"source": IDS, "target": IDS})
WEIGHTED = st.fixed_dictionaries({"source": IDS, "target": IDS, "weight": SCALARS})
SHAPED = st.fixed_dictionaries(
    {"drop_unknown": st.just(True)},
    optional={
        "nodes": st.lists(NODES, max_size=3, unique_by=lambda node: node["id"]),
        "edges": st.lists(EDGES, max_size=4) | st.lists(WEIGHTED, max_size=2),
        "ids": st.lists(IDS, max_size=3),
    },
)
SHAPELESS = st.dictionaries(
    st.sampled_from(["nodes", "edges", "ids", "drop_unknown"]) | TEXT,
    CELLS | st.lists(CELLS, max_size=3) | st.floats(),
    max_size=3,
)


@pytest.fixture(scope="module")
def client(served_folder: Path) -> TestClient:
    return TestClient(create_app(Service(Predictor.load(served_folder / "model"))))


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=SHAPED | SHAPELESS, path=st.sampled_from(["/predict", "/explain"]))
def test_any_json_is_answered(client: TestClient, body: dict[str, Any], path: str) -> None:
    if path == "/explain":
        ids = body.pop("ids", None)
        body["id"] = ids[0] if isinstance(ids, list) and ids else "user:1"
    # an exception that no handler knows is raised here
    answer = client.post(path, content=json.dumps(body), headers=JSON)
    event(f"{path} {answer.status_code}")
    assert answer.status_code in (200, 400, 422), answer.text
    if answer.status_code != 200:
        assert list(answer.json()) == ["error"]
        assert answer.json()["error"].strip()
    elif path == "/predict":
        for each in answer.json()["predictions"]:
            assert sum(each["probabilities"].values()) == pytest.approx(1, abs=1e-5)
