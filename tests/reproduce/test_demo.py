import pytest

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.measures import node_heterophily
from herofilter.reproduce import demo
from herofilter.reproduce.demo import LEVELS, MODELS, Level, demo_graph, run_demo, standard_error
from tests.events import steps


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Config().replace(patch_size=4, hidden_channels=8, epochs=4)
    monkeypatch.setattr(demo, "demo_config", lambda seed: quick.replace(seed=seed))


def tiny(**options: object) -> dict:
    return run_demo(levels=(0.1, 0.9), num_nodes=80, num_splits=2, **options)


def entry(mean: float, std: float = 0.0, splits: int = 4) -> dict:
    return {"mean": mean, "std": std, "values": [mean] * splits}


def level(mlp: dict, gcn: dict, hero: dict) -> Level:
    return Level(0.5, 0.5, 0.5, 0.5, {"mlp": mlp, "gcn": gcn, "herofilter": hero})


@pytest.mark.usefixtures("_quick")
def test_the_result() -> None:
    result = tiny()
    assert (result["num_nodes"], result["num_splits"]) == (80, 2)
    assert result["seconds"] > 0
    assert Config.from_dict(result["config"]).train.epochs == 4
    assert [row["heterophily"] for row in result["levels"]] == [0.1, 0.9]
    for row in result["levels"]:
        assert set(row["accuracy"]) == set(MODELS)
        for accuracy in row["accuracy"].values():
            assert len(accuracy["values"]) == 2
            assert all(0 <= value <= 1 for value in accuracy["values"])
        assert 0 <= row["patch_homophily"] <= 1
        assert row["holds"] is Level(**{k: v for k, v in row.items() if k != "holds"}).holds()
        assert row["node_heterophily"] == pytest.approx(row["heterophily"], abs=0.1)
    low, high = result["levels"]
    assert low["edge_homophily"] > 0.8
    assert high["edge_homophily"] < 0.2


@pytest.mark.usefixtures("_quick")
def test_the_graphs_are_those_of_the_levels() -> None:
    data = demo_graph(0.9, num_nodes=80, num_splits=2, seed=0)
    assert tiny()["levels"][1]["node_heterophily"] == node_heterophily(data)


@pytest.mark.usefixtures("_quick")
def test_repeats_are_the_same_and_the_seed_matters() -> None:
    first, again, other = tiny(), tiny(), tiny(seed=1)
    assert first["levels"] == again["levels"]
    assert first["levels"] != other["levels"]
    assert other["config"]["train"]["seed"] == 1


@pytest.mark.usefixtures("_quick")
def test_every_step_is_told() -> None:
    heard: list[Event] = []
    tiny(callback=heard.append)
    assert steps(heard) == [(done, 6) for done in range(1, 7)]
    assert {event.name for event in heard} == {
        f"{model} at heterophily {level}" for model in MODELS for level in (0.1, 0.9)
    }


@pytest.mark.usefixtures("_quick_workers")
def test_processes_do_not_change_the_result() -> None:
    alone, shared = (
        run_demo(levels=(0.5,), num_nodes=60, num_splits=1, workers=workers) for workers in (1, 2)
    )
    assert alone["levels"] == shared["levels"]


@pytest.mark.parametrize(
    ("mlp", "gcn", "hero", "holds"),
    [
        (entry(0.7), entry(0.6), entry(0.7), True),
        (entry(0.7), entry(0.6), entry(0.69), False),
        (entry(0.6), entry(0.7), entry(0.65), False),
        # a standard error is std / 2 over four splits; those of both sides add up as squares
        (entry(0.7, 0.04), entry(0.6), entry(0.685), True),
        (entry(0.7, 0.04), entry(0.6), entry(0.675), False),
        (entry(0.7), entry(0.6), entry(0.685, 0.04), True),
        (entry(0.7, 0.04), entry(0.6), entry(0.673, 0.04), True),
        (entry(0.7, 0.04), entry(0.6), entry(0.67, 0.04), False),
        # that of the weaker rival has no say
        (entry(0.7), entry(0.6, 0.4), entry(0.685), False),
    ],
)
def test_what_holds(mlp: dict, gcn: dict, hero: dict, holds: bool) -> None:
    assert level(mlp, gcn, hero).holds() is holds


def test_standard_error() -> None:
    assert standard_error(entry(0.5, 0.2, splits=4)) == pytest.approx(0.1)
    assert standard_error(entry(0.5, 0.0, splits=1)) == 0.0


def test_the_levels_run_from_homophily_to_heterophily() -> None:
    assert len(LEVELS) == 9
    assert list(LEVELS) == sorted(LEVELS)
