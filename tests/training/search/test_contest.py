"""Contenders on a graph: order, clock, what is kept on disk, and what a second call does."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from herofilter.callbacks import Event
from herofilter.data import TableGraph, csbm
from herofilter.data.synthetic.weak_features import weak_features_graph
from herofilter.errors import ConfigError, RunError
from herofilter.training.search import contenders, contest as module
from herofilter.training.search.choices import CONTENDER_NAMES
from herofilter.training.search.clock import Clock
from herofilter.training.search.contenders import CONTENDERS
from herofilter.training.search.contest_store import finished_trainings
from herofilter.training.search.fitting import Fitted, fit_graph
from tests.training.graphs import table_graph

SHORT = ("epochs=12", "patch_size=4", "hidden_channels=8")


@pytest.fixture(scope="module")
def graph() -> TableGraph:
    return table_graph(csbm(num_nodes=80, num_classes=3, heterophily=0.2))


def fit(graph: TableGraph, out: Path | None = None, trials: int = 1, **options: str) -> Fitted:
    return fit_graph(graph, 600.0, SHORT, trials=trials, out=out, **options)


def test_names_of_contenders_are_those_that_can_be_asked_for() -> None:
    assert tuple(contender.name for contender in CONTENDERS) == CONTENDER_NAMES


@pytest.mark.part("tables")
def test_every_contender_is_trained_once_and_measured(graph: TableGraph) -> None:
    fitted = fit(graph)
    assert tuple(fitted.candidates) == CONTENDER_NAMES
    assert fitted.unfinished == ()
    models = fitted.saved.metrics["models"]
    assert all(entry["finished"] and entry["trials"] == 1 for entry in models.values())
    best = max(entry["validation"]["accuracy"] for entry in models.values())
    assert models[fitted.saved.metrics["kept"]]["validation"]["accuracy"] == best


@pytest.mark.part("tables")
def test_a_simpler_model_within_one_error_is_named() -> None:
    graph = table_graph(csbm(num_nodes=80, num_classes=2, feature_signal=1.0, heterophily=0.3))
    found = fit_graph(graph, 600.0, trials=1)
    (line,) = (line for line in found.said if line.startswith("simpler, and within one"))
    named = line.rpartition("--model ")[2].split()[0]
    order = list(found.candidates)
    kept = found.candidates[found.saved.metrics["kept"]]
    mask = found.saved.graph.data.val_mask
    y = found.saved.graph.data.y[mask]
    right = (kept.log_probabilities.argmax(1) == y).double()
    close = []
    for name in order[: order.index(kept.contender.name)]:
        other = (found.candidates[name].log_probabilities.argmax(1) == y).double()
        error = (right - other).std() / len(y) ** 0.5
        close += [name] if float((right - other).mean()) <= float(error) + 1e-9 else []
    assert named == close[0]
    alone = fit_graph(graph, 600.0, trials=1, model=named)
    assert alone.saved.metrics["kept"] == named
    assert not any("within one" in line for line in alone.said)


def test_of_equals_the_simpler_is_kept() -> None:
    graph = table_graph(csbm(num_nodes=80, num_classes=2, feature_signal=8.0))
    metrics = fit_graph(graph, 600.0, trials=1).saved.metrics
    models = metrics["models"].items()
    perfect = [name for name, entry in models if entry["validation"]["accuracy"] == 1]
    assert len(perfect) > 1
    assert metrics["kept"] == perfect[0]


def test_one_contender_alone_beside_the_majority(graph: TableGraph) -> None:
    fitted = fit(graph, model="gcn")
    assert list(fitted.candidates) == ["majority", "gcn"]
    assert fitted.saved.model == "gcn"
    assert not any("edges" in line for line in fitted.said)


def test_the_metric_chooses() -> None:
    graph = table_graph(weak_features_graph(num_nodes=600, num_splits=1))
    kept = fit(graph, metric="auc").saved.metrics
    scores = {name: entry["validation"]["auc"] for name, entry in kept["models"].items()}
    assert kept["metric"] == "auc"
    assert kept["kept"] == max(scores, key=lambda name: scores[name])
    assert scores["majority"] == 0.5


@pytest.mark.part("tables")
def test_trainings_are_kept_and_continued(graph: TableGraph, tmp_path: Path) -> None:
    events: list[Event] = []

    def stop(event: Event) -> None:
        events.append(event)
        if sum(entry.stage == "trial" for entry in events) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_graph(graph, 600.0, SHORT, trials=2, out=tmp_path, callback=stop)
    assert finished_trainings(tmp_path) == 4
    later: list[str] = []

    def follow(event: Event) -> None:
        if event.stage == "trial":
            later.append(event.name)

    continued = fit_graph(graph, 600.0, SHORT, trials=2, out=tmp_path, callback=follow)
    assert later[:3] == ["GCN", "HeroFilter", "HeroFilter + labels"]
    at_once = fit_graph(graph, 600.0, SHORT, trials=2)
    assert continued.said == at_once.said
    for name, entry in at_once.candidates.items():
        assert torch.equal(entry.log_probabilities, continued.candidates[name].log_probabilities), (
            name
        )


def test_nothing_is_trained_again_when_all_is_there(graph: TableGraph, tmp_path: Path) -> None:
    first = fit(graph, tmp_path)
    trained: list[Event] = []
    again = fit_graph(graph, 600.0, SHORT, trials=1, out=tmp_path, callback=trained.append)
    assert not trained
    assert again.said == first.said


@pytest.mark.part("tables")
def test_trainings_of_other_settings_do_not_count(graph: TableGraph, tmp_path: Path) -> None:
    fit(graph, tmp_path)
    fit_graph(graph, 600.0, ("epochs=3", *SHORT[1:]), trials=1, out=tmp_path)
    header = json.loads((tmp_path / "search" / "search.json").read_text())
    assert header["settings"][0] == "epochs=3"
    assert finished_trainings(tmp_path) == len(CONTENDERS)


def test_the_clock_ends_trainings_and_the_best_state_is_kept(graph: TableGraph) -> None:
    # enough for an epoch of each, not for a million
    clock = Clock(6.0)
    fitted = fit_graph(graph, clock, ("epochs=1000000", "patience=1000000", "patch_size=4"))
    assert time.perf_counter() - clock.started < 12
    assert "MLP" in fitted.unfinished
    assert fitted.predictor.predict_proba().shape == (80, 3)
    assert any("not enough time" in line or "the edges help" in line for line in fitted.said)


def test_patches_that_would_not_be_ready_in_time_are_not_begun(
    graph: TableGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_PER_PRODUCT", 1e9)
    lines: list[Event] = []
    fitted = fit_graph(graph, 600.0, SHORT, trials=1, callback=lines.append)
    assert fitted.unfinished == ("HeroFilter", "HeroFilter + labels")
    assert "herofilter" not in fitted.candidates
    states = [str(event.values["state"]) for event in lines if event.stage == "trial"]
    assert sum(state.startswith("not enough time: its patches alone") for state in states) == 2


def test_without_scikit_learn_there_are_no_boosters(
    graph: TableGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contenders.importlib.util, "find_spec", lambda name: None)
    fitted = fit(graph)
    assert not {"booster", "neighbour-booster"} & set(fitted.candidates)
    assert fitted.said[-1] == ("no booster took part: pip install 'herofilter[tables]' adds them")


def test_a_contender_that_fails_is_told(graph: TableGraph) -> None:
    with pytest.raises(RunError, match="some model must be trained within the budget"):
        fit_graph(replace(graph), 600.0, (*SHORT, "lr=1e30"), trials=1, model="mlp")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.0}, "budget must be above 0 seconds"),
        ({"trials": 0}, "trials must be at least 1"),
        ({"metric": "acc"}, "metric must be one of accuracy, balanced, f1, auc, ap"),
        ({"model": "gnc"}, "model must be one of auto, majority"),
    ],
)
def test_mistakes(graph: TableGraph, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fit_graph(graph, **options)  # type: ignore[arg-type]
