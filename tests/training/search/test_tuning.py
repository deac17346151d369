"""Tuning: what is searched, that test labels stay unread, and that nothing finished is lost."""

import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
from sqlalchemy import event
from sqlalchemy.engine import Engine
from torch_geometric.data import Data

from herofilter.callbacks import Event
from herofilter.config import Config, paper_config
from herofilter.data import csbm
from herofilter.errors import ConfigError, GraphError, RunError
from herofilter.nn.build import fast_patcher
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.training import recipe
from herofilter.training.recipe import train_split
from herofilter.training.search import session as search_module
from herofilter.training.search.budget import parse_budget
from herofilter.training.search.presets import read_preset
from herofilter.training.search.proposals import RANDOM_TRIALS
from herofilter.training.search.pruning import lags, step_after, step_in
from herofilter.training.search.session import Search
from herofilter.training.search.space import RECIPES, SearchSpace, changed_settings, make_space
from herofilter.training.search.suggest import DefaultSuggester, TrialSuggester
from herofilter.training.search.tuning import tune
from tests.events import steps

# a small space: each suggested setting costs a write to the study
FEW = ["epochs=4", "hidden_channels=8", "patch_size=4", "patcher=spectral", "filter_order=4"]
FEW += ["filter_starts=low", "selection=top", "learn_filter=false", "self_loops=true"]
FEW += ["aggregation=ego_concat", "score_norm=l1", "summary=true", "label_tokens=false"]
FEW += ["activation=tanh", "monitor=accuracy", "label_smoothing=0", "input_dropout=0"]
# how many configurations a search with these tries before it suggests others
STARTS = 3


@pytest.fixture(scope="module", autouse=True)
def _quick_database() -> Iterator[None]:
    """Don't wait for the disk at every write to a study."""

    def relax(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")

    event.listen(Engine, "connect", relax)
    yield
    event.remove(Engine, "connect", relax)


@pytest.fixture
def space_study() -> Iterator[Callable[[], Any]]:
    """Make quiet studies in memory, to suggest from a space without training."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(seed=0)
    yield lambda: optuna.create_study(direction="maximize", sampler=sampler)
    optuna.logging.set_verbosity(verbosity)


def replace_training(patch: pytest.MonkeyPatch, training: Callable[..., Any]) -> None:
    """Let the trainings of a search, but not the one after it, be ``training``."""

    def fit(*args: Any, **more: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(recipe, "train_split", training)
            return recipe.fit_split(*args, **more)

    patch.setattr(search_module, "fit_split", fit)


def graph(num_splits: int = 2, directed: bool = False, num_nodes: int = 60) -> Data:
    return csbm(num_nodes, 3, average_degree=6, seed=1, num_splits=num_splits, directed=directed)


def search(out: Path, data: Data | None = None, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"trials": 3, "fixed": FEW, **changes}
    return tune(graph() if data is None else data, "small", out=out, **options)


def trials(out: Path) -> list[dict[str, Any]]:
    """Return the trials of a search without their times."""
    records = json.loads((out / "trials.json").read_text())
    return [{key: record[key] for key in record if key != "seconds"} for record in records]


# spaces


class Every:
    """Take the option at a position, and note the options of every name."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.options: dict[str, list[Any]] = {}

    def choice(self, name: str, options: Any, default: Any) -> Any:
        assert self.options.setdefault(name, list(options)) == list(options)
        return options[self.position % len(options)]

    def number(self, name: str, low: float, high: float, step: Any, default: float) -> float:
        assert low <= default <= high
        return high


class Given:
    """Take the values of a start, as a queued trial does."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def choice(self, name: str, options: Any, default: Any) -> Any:
        assert self.values[name] in options
        return self.values[name]

    def number(self, name: str, low: float, high: float, step: Any, default: float) -> float:
        assert low <= self.values[name] <= high
        return self.values[name]


def keys(space: SearchSpace, position: int) -> set[str]:
    return set(space.suggest(Every(position)))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("model", ["herofilter", "fast-herofilter", "gcn"])
@pytest.mark.parametrize("name", ["wide", "paper"])
def test_the_first_configuration_is_the_default(name: str, model: str, directed: bool) -> None:
    space = make_space(name, model, graph(directed=directed))
    config = space.config(space.suggest(DefaultSuggester()))
    default = paper_config() if name == "paper" else resolve_defaults(graph(), Config())
    changed = {}
    if (name, model, directed) == ("wide", "fast-herofilter", False):
        # without directions four relations are two, and the space has one name for them
        changed = {"relations": "out,cocitation"}
    assert changed_settings(config, default) == changed


def test_two_relations_are_the_default_without_directions() -> None:
    space = make_space("wide", "fast-herofilter", graph())
    first = fast_patcher(graph(), space.config(space.suggest(DefaultSuggester())))(graph())
    default = fast_patcher(graph(), Config())(graph())
    assert torch.equal(first.index, default.index)
    assert torch.equal(first.score, default.score)


def test_a_search_starts_with_the_default_and_then_the_recipes() -> None:
    space = make_space("wide", "herofilter", graph(directed=True))
    starts = [space.config(space.suggest(Given(start))) for start in space.starts()]
    usual = resolve_defaults(space.data, Config())
    assert changed_settings(starts[0], usual) == {}
    assert len(starts) == 1 + len(RECIPES)
    for config, settings in zip(starts[1:], RECIPES, strict=True):
        assert changed_settings(config) == changed_settings(usual.replace(**settings))


def test_recipes_leave_fixed_settings_alone_and_none_comes_twice() -> None:
    space = make_space("wide", "herofilter", graph(), FEW)
    starts = [space.config(space.suggest(Given(start))) for start in space.starts()]
    assert [changed_settings(config, space.base) for config in starts] == [
        {},
        {"norm": "patch", "weight_decay": 1e-2},
        {"dropout": 0.6, "feature_scaling": "rows"},
    ]
    assert len(starts) == STARTS
    # a perceptron has no patches, and what is left of the recipes differs in decay and dropout
    plain = make_space("wide", "mlp", graph()).starts()
    assert len({json.dumps(start) for start in plain}) == len(plain) < 1 + len(RECIPES)


def test_only_settings_that_matter_are_suggested() -> None:
    space = make_space("wide", "herofilter", graph())
    learned, fast = keys(space, 0), keys(make_space("wide", "fast-herofilter", graph()), 0)
    spectral = keys(make_space("wide", "herofilter", graph(), ["patcher=spectral"]), 0)
    assert {"filter_order", "filter_starts"} <= learned & spectral
    assert {"activation", "selection", "filter_lr"} <= spectral - learned
    assert "relations" not in learned | spectral
    assert "relations" in fast
    assert not {"filter_order", "filter_starts", "activation"} & fast
    assert not {"directed", "patcher", "learn_filter"} & (learned | fast | spectral)
    assert not {"patch_size", "aggregation"} & keys(make_space("wide", "mlp", graph()), 0)


def test_directed_graphs_have_relations() -> None:
    space = make_space("wide", "herofilter", graph(directed=True))
    suggester = Every(1)
    values = space.suggest(suggester)
    assert (values["directed"], values["relations"]) == ("keep", "out,in")
    assert suggester.options["relations"][-1] == "out,in,coreference,cocitation"
    # on eigenvectors other filters than polynomials can't follow directions
    fixed = ["filter=ppr", "patcher=spectral"]
    spectral = make_space("wide", "herofilter", graph(directed=True), fixed)
    assert "directed" not in keys(spectral, 1)


def test_no_search_leaves_what_is_called_herofilter() -> None:
    for directed in (False, True):
        space = make_space("wide", "herofilter", graph(directed=directed))
        for position in range(12):
            values = space.suggest(Every(position))
            assert int(values["patch_size"]) >= 5
            assert int(values["num_layers"]) >= 1
            config = space.config(values)
            assert (config.patcher.patcher, config.train.learn_filter) == ("auto", True)


def test_graphs_without_features_are_searched_without_their_scaling() -> None:
    bare = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=4001)
    assert "feature_scaling" not in make_space("wide", "herofilter", bare).suggest(Every(0))


def test_patches_fit_the_graph_and_their_parts() -> None:
    tiny = make_space("wide", "herofilter", graph(num_nodes=20))
    for position in range(6):
        suggester = Every(position)
        values = tiny.suggest(suggester)
        size = int(values["patch_size"])
        parts = len(str(values["filter_starts"]).split(","))
        assert 1 + parts <= size <= 20
    assert tiny.config(tiny.suggest(DefaultSuggester())).patcher.patch_size == 9
    # a default that the graph can't fill gives way to the next smaller size
    tinier = make_space("wide", "herofilter", csbm(8, 2, average_degree=2))
    assert tinier.config(tinier.suggest(DefaultSuggester())).patcher.patch_size == 5


def test_every_suggestion_is_a_valid_configuration(space_study: Callable[[], Any]) -> None:
    for directed in (False, True):
        space = make_space("wide", "herofilter", graph(directed=directed))
        study = space_study()
        found = []
        for _ in range(60):
            trial = study.ask()
            # raises where a value is impossible, or where a name has two sets of options
            found.append(space.config(space.suggest(TrialSuggester(trial))))
            study.tell(trial, 0.0)
        # a space that drew the same thing over and over would be valid, too
        assert len(set(found)) > 50
        assert {config.patcher.directed for config in found} == (
            {"symmetrise", "keep"} if directed else {"keep"}
        )


def test_fixed_settings_are_not_suggested() -> None:
    space = make_space("wide", "herofilter", graph(), ["patcher.patcher=fast", "lr=0.5"])
    values = space.suggest(Every(0))
    assert not {"patcher", "lr"} & set(values)
    config = space.config(values)
    assert (config.patcher.patcher, config.train.lr) == ("fast", 0.5)
    assert "filter_order" not in values
    with pytest.raises(ConfigError, match="seed must not be a fixed setting"):
        make_space("wide", "herofilter", graph(), ["train.seed=3"])
    with pytest.raises(ConfigError, match="did you mean 'wide'"):
        make_space("wyde", "herofilter", graph())


def test_the_grid_of_the_paper() -> None:
    space = make_space("paper", "herofilter", csbm(num_nodes=120, num_splits=1))
    grid = space.grid()
    assert grid is not None
    assert len(grid) == 125
    assert grid[0] == {"lr": 0.01, "patch_size": 16, "filter_order": 10}
    assert len({tuple(point.values()) for point in grid}) == 125
    small = make_space("paper", "herofilter", graph(), ["lr=0.01"])
    # patches of 64 and 96 don't fit into 60 nodes
    assert len(small.grid() or []) == 3 * 5
    assert len(make_space("paper", "fast-herofilter", graph()).grid() or []) == 5 * 3
    assert len(make_space("paper", "mlp", graph()).grid() or []) == 5
    assert make_space("wide", "herofilter", graph()).grid() is None


# pruning


CURVES = [{step_in(0, 50): 0.1 * k, step_after(0): 0.1 * k + 0.05} for k in range(1, 6)]


def test_lagging_behind() -> None:
    assert lags(0.34, step_after(0), CURVES)
    assert not lags(0.35, step_after(0), CURVES)
    # a slow start is forgiven down to the lower quartile
    assert not lags(0.2, step_in(0, 50), CURVES, patient=True)
    assert lags(0.19, step_in(0, 50), CURVES, patient=True)
    # nobody got as far as epoch 100: the ends count
    assert lags(0.24, step_in(0, 100), CURVES, patient=True)
    assert not lags(0.0, step_after(0), CURVES[:4])


def rigged(
    accuracy: Callable[[int, int], float], calls: list[tuple[int, int]] | None = None
) -> Callable[..., Any]:
    """Return a training whose validation accuracy is set by its call's number and the split."""
    counter = iter(range(10_000))

    def fake(
        prepared: Data, model: str, config: Config, split: int, *rest: Any, **more: Any
    ) -> Any:
        number = next(counter)
        if calls is not None:
            calls.append((number, split))
        network, result = train_split(prepared, model, config, split, *rest, **more)
        score = type(result.val)(accuracy(number, split), 1.0)
        return network, type(result)(result.train, score, result.test, 0, 0.0)

    return fake


def test_a_trial_below_the_median_is_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int]] = []
    # five good trials of three splits, then bad ones
    fake = rigged(lambda number, split: 0.9 if number < 15 else 0.1, calls)
    replace_training(monkeypatch, fake)
    summary = search(tmp_path / "out", graph(3), model="mlp", trials=6, fixed=["epochs=1"])
    assert summary["trials"] == {"completed": 5, "pruned": 1, "failed": 0}
    last = trials(tmp_path / "out")[-1]
    # the bad one was given up after two of three splits
    assert [split for _, split in calls[15:]] == [0, 1]
    assert (last["state"], len(last["runs"])) == ("pruned", 2)
    assert last["message"] == "below the median after 2 of 3 trainings"
    # all five are equal in accuracy and loss: the first one, the default, is chosen
    assert summary["best_trial"] == 0


def test_a_hopeless_training_is_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "CHECK_EVERY", 2)
    monkeypatch.setattr(
        search_module,
        "lags",
        lambda value, step, curves, patient=False: patient and len(curves) > 1,
    )
    search(tmp_path / "out", graph(1), model="mlp", fixed=["epochs=6"])
    states = [(record["state"], len(record["runs"])) for record in trials(tmp_path / "out")]
    assert states == [("completed", 1), ("completed", 1), ("pruned", 0)]
    assert (
        trials(tmp_path / "out")[2]["message"] == "in the lowest quarter at epoch 2 of training 1"
    )


# the search


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("done") / "out"
    return out, search(out, trials=STARTS + 2)


def test_what_a_search_leaves(done: tuple[Path, dict[str, Any]]) -> None:
    out, summary = done
    assert {path.name for path in out.iterdir()} == {
        "preset.yaml",
        "run",
        "study.db",
        "trials.json",
        "tune.json",
    }
    assert json.loads((out / "tune.json").read_text()) == summary
    records = trials(out)
    assert [record["number"] for record in records] == list(range(STARTS + 2))
    best = records[summary["best_trial"]]
    values = [record["val_accuracy"] for record in records]
    assert best["val_accuracy"] == max(values) == summary["val_accuracy"]["mean"]
    assert summary["default_val_accuracy"] == values[0]
    assert summary["trials"] == {"completed": STARTS + 2, "pruned": 0, "failed": 0}
    assert "torch" in summary["environment"]["packages"]
    chosen = Config.from_dict(summary["config"])
    assert read_preset(out / "preset.yaml") == ("herofilter", chosen)
    assert chosen == make_space("wide", "herofilter", graph(), FEW).config(best["settings"])


def test_the_run_repeats_what_validation_saw(done: tuple[Path, dict[str, Any]]) -> None:
    out, summary = done
    metrics = json.loads((out / "run" / "metrics.json").read_text())
    assert metrics["val_accuracy"] == summary["val_accuracy"]
    assert metrics["test_accuracy"] == summary["test_accuracy"]
    assert list(metrics["splits"]) == ["0", "1"]


def test_the_first_trial_is_the_default(done: tuple[Path, dict[str, Any]]) -> None:
    space = make_space("wide", "herofilter", graph(), FEW)
    default = resolve_defaults(graph(), Config().with_settings(FEW))
    assert space.config(trials(done[0])[0]["settings"]) == default


def test_a_repeated_search_is_the_same(done: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    again = search(tmp_path / "out", trials=STARTS + 2)
    assert trials(tmp_path / "out") == trials(done[0])
    assert again["config"] == done[1]["config"]
    assert again["test_accuracy"] == done[1]["test_accuracy"]
    search(tmp_path / "other", trials=STARTS + 1, seed=1)
    pairs = list(zip(trials(tmp_path / "other"), trials(done[0]), strict=False))
    # every search starts alike; the seed decides what is suggested then
    assert [one["settings"] == other["settings"] for one, other in pairs] == [True] * STARTS + [
        False
    ]


def test_two_sessions_are_as_good_as_one(done: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    search(out, trials=STARTS - 1)
    seen: list[Event] = []
    again = search(out, trials=STARTS + 2, callback=seen.append)
    assert steps(seen) == [(STARTS + more, STARTS + 2) for more in range(3)]
    assert trials(out) == trials(done[0])
    assert again["config"] == done[1]["config"]
    assert seen[-1].values["best"] == again["val_accuracy"]["mean"]
    # nothing is left to do
    assert search(out, trials=STARTS + 2, callback=seen.append)["config"] == again["config"]
    assert len(seen) == 3


def test_suggestions_after_the_random_ones_are_repeatable(space_study: Callable[[], Any]) -> None:
    space = make_space("wide", "herofilter", graph(directed=True))

    def suggestions() -> list[dict[str, Any]]:
        study = space_study()
        searching = Search(study, space, [0], [0], 0, None, None, None)
        found = []
        for _ in range(RANDOM_TRIALS + 25):
            trial = searching._ask(None)
            found.append(space.suggest(TrialSuggester(trial)))
            trial.set_user_attr("seconds", 0.0)
            study.tell(trial, found[-1]["lr"])
        return found

    first = suggestions()
    assert first == suggestions()
    assert len({json.dumps(values) for values in first}) == len(first)
    # the sampler has understood what pays
    rates = [values["lr"] for values in first]
    assert statistics.fmean(rates[-10:]) > statistics.fmean(rates[:RANDOM_TRIALS])


@pytest.mark.parametrize(
    ("more", "count"), [([], STARTS + 3), (["label_tokens=true"], 2)], ids=["searched", "fixed"]
)
def test_test_labels_are_never_read(tmp_path: Path, more: list[str], count: int) -> None:
    data = csbm(60, 3, average_degree=6, feature_signal=8, num_splits=1)
    other = data.clone()
    masked = data.test_mask[:, 0]
    other.y[masked] = (data.y[masked] + 1) % 3
    assert not torch.equal(data.y, other.y)
    # everything that reads labels is searched as well
    fixed = [*(setting for setting in FEW if "label" not in setting), "epochs=12", *more]
    found = [
        search(tmp_path / name, graph_, trials=count, fixed=fixed, seed=3)
        for name, graph_ in (("as-they-are", data), ("changed", other))
    ]
    assert trials(tmp_path / "as-they-are") == trials(tmp_path / "changed")
    space = make_space("wide", "herofilter", data, fixed)
    configs = [space.config(record["settings"]) for record in trials(tmp_path / "changed")]
    assert any(config.model.label_tokens for config in configs)
    for key in ("config", "best_trial", "val_accuracy"):
        assert found[0][key] == found[1][key]
    presets = [read_preset(tmp_path / name / "preset.yaml") for name in ("as-they-are", "changed")]
    assert presets[0] == presets[1]
    # the labels did change: the one test after the search says so
    assert found[0]["test_accuracy"] != found[1]["test_accuracy"]


def test_the_search_hands_out_no_test_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = graph(2)

    def spy(prepared: Data, model: str, config: Config, split: int, *rest: Any, **more: Any) -> Any:
        assert more["score_test"] is False
        assert more["spec"].num_classes == 3
        test = data.test_mask[:, split]
        assert "test_mask" not in prepared
        assert set(prepared.y[test].tolist()) == {-1}
        assert torch.equal(prepared.y[~test], data.y[~test])
        return train_split(prepared, model, config, split, *rest, **more)

    replace_training(monkeypatch, spy)
    before = data.y.clone()
    search(tmp_path / "out", data, model="mlp", trials=1, fixed=["epochs=1"])
    assert torch.equal(data.y, before)


def test_ties_go_to_the_lower_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, 1.0, 2.0])

    def fake(*args: Any, **more: Any) -> Any:
        network, result = train_split(*args, **more)
        score = type(result.val)(0.5, next(losses))
        return network, type(result)(result.train, score, result.test, 0, 0.0)

    replace_training(monkeypatch, fake)
    assert search(tmp_path / "out", graph(1), model="mlp", fixed=["epochs=1"])["best_trial"] == 1


def scripted(monkeypatch: pytest.MonkeyPatch, *accuracies: float) -> None:
    """Let the trainings of a search have these validation accuracies, one after the other."""
    script = iter(accuracies)

    def fake(*args: Any, **more: Any) -> Any:
        network, result = train_split(*args, **more)
        score = type(result.val)(next(script), 1.0)
        return network, type(result)(result.train, score, result.test, 0, 0.0)

    replace_training(monkeypatch, fake)


def test_the_highest_validation_accuracy_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, 0.5, 0.9, 0.7)
    options: dict[str, Any] = {"model": "mlp", "fixed": ["epochs=1"], "trials": 3}
    assert search(tmp_path / "out", graph(1), **options)["best_trial"] == 1


def test_a_trial_that_was_only_lucky_loses_in_the_finals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # three trials; then the best, the second and the default with two further seeds each
    scripted(monkeypatch, 0.5, 0.9, 0.8, 0.3, 0.3, 0.8, 0.8, 0.5, 0.5)
    options: dict[str, Any] = {"model": "mlp", "fixed": ["epochs=1"], "trials": 3}
    found = search(tmp_path / "out", graph(1), finalists=2, **options)
    assert found["best_trial"] == 2
    assert found["val_accuracy"]["values"] == [0.8, 0.8, 0.8]


def test_several_seeds(tmp_path: Path) -> None:
    summary = search(
        tmp_path / "out", model="mlp", trials=1, fixed=["epochs=2"], seeds=(3, 4), splits=[1]
    )
    (record,) = trials(tmp_path / "out")
    assert [(run["split"], run["seed"]) for run in record["runs"]] == [(1, 3), (1, 4)]
    assert len(summary["test_accuracy"]["values"]) == 2
    assert (tmp_path / "out/run/seed-4/metrics.json").exists()


def test_the_paper_grid_is_tried_point_by_point(tmp_path: Path) -> None:
    fixed = ["epochs=1", "patch_size=8"]
    options = {"space": "paper", "model": "fast-herofilter", "fixed": fixed}
    search(tmp_path / "out", graph(1), trials=2, **options)
    summary = search(tmp_path / "out", graph(1), trials=50, **options)
    rates = [record["settings"]["lr"] for record in trials(tmp_path / "out")]
    assert rates[0] == 0.01
    assert sorted(rates) == [0.001, 0.003, 0.005, 0.008, 0.01]
    assert summary["trials"]["completed"] == 5


def test_a_better_configuration_takes_over_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_training(monkeypatch, rigged(lambda number, split: 0.1 * number))
    first = search(tmp_path / "out", graph(1), model="mlp", trials=1, fixed=["epochs=1"])
    replace_training(monkeypatch, rigged(lambda number, split: 0.9))
    second = search(tmp_path / "out", graph(1), model="mlp", trials=2, fixed=["epochs=1"])
    assert (first["best_trial"], second["best_trial"]) == (0, 1)
    metrics = json.loads((tmp_path / "out/run/metrics.json").read_text())
    assert metrics["config"] == second["config"] != first["config"]


# failures


def test_a_failed_trial_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(9))

    def fail_once(*args: Any, **more: Any) -> Any:
        if next(calls) == 1:
            raise ConfigError("this one must fail")
        return train_split(*args, **more)

    replace_training(monkeypatch, fail_once)
    summary = search(tmp_path / "out", graph(1), model="mlp", fixed=["epochs=1"])
    assert summary["trials"] == {"completed": 2, "pruned": 0, "failed": 1}
    record = trials(tmp_path / "out")[1]
    assert (record["state"], record["message"]) == ("failed", "this one must fail")
    assert record["val_accuracy"] is None


def test_all_trials_fail(tmp_path: Path) -> None:
    fixed = [*FEW, "patch_size=99"]
    with pytest.raises(RunError) as caught:
        search(tmp_path / "out", trials=2, fixed=fixed)
    assert str(caught.value) == (
        "some trial must succeed, but all failed, the last with: patch_size must be between 1 "
        "and the number of nodes (got 99; the graph has 60 nodes)"
    )
    assert [record["state"] for record in trials(tmp_path / "out")] == ["failed", "failed"]


def press_ctrl_c(at: int) -> Callable[..., Any]:
    """Return a training during which, at its call number ``at``, the user presses Ctrl-C."""
    calls = iter(range(99))

    def press(*args: Any, **more: Any) -> Any:
        if next(calls) == at:
            raise KeyboardInterrupt
        return train_split(*args, **more)

    return press


def test_ctrl_c_keeps_what_is_there(
    done: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        replace_training(patch, press_ctrl_c(3))
        with pytest.raises(KeyboardInterrupt):
            search(out, trials=STARTS + 2)
    assert [record["state"] for record in trials(out)] == ["completed", "interrupted"]
    search(out, trials=STARTS + 2)
    kept = [record for record in trials(out) if record["state"] != "interrupted"]
    assert [record["number"] for record in kept] == [0, *range(2, STARTS + 3)]
    # the interrupted trial leaves no trace in the others
    for record, expected in zip(kept, trials(done[0]), strict=True):
        assert {**record, "number": None} == {**expected, "number": None}


def test_a_trial_left_running_is_marked_as_failed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options: dict[str, Any] = {"model": "mlp", "fixed": ["epochs=1"]}
    search(out, graph(1), trials=1, **options)
    study = optuna.load_study(study_name="tune", storage=f"sqlite:///{out / 'study.db'}")
    study.ask()
    search(out, graph(1), trials=2, **options)
    states = [record["state"] for record in trials(out)]
    assert states == ["completed", "interrupted", "completed"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"model": "gcn"}, "another model (got gcn; it holds mlp)"),
        ({"splits": [0]}, "another splits (got 0; it holds 0,1)"),
        ({"fixed": ["epochs=2"]}, "another fixed (got epochs=2; it holds epochs=1)"),
        ({"seeds": (1,)}, "another seeds (got 1; it holds 0)"),
        ({"space": "paper"}, "another space (got paper; it holds wide)"),
    ],
)
def test_the_folder_of_another_search(
    other_search: Path, changes: dict[str, Any], text: str
) -> None:
    options = {"model": "mlp", "trials": 1, "fixed": ["epochs=1"], **changes}
    with pytest.raises(RunError) as caught:
        search(other_search, **options)
    assert str(caught.value) == (
        f"{other_search} must hold the same search to be continued, but it has {text}; "
        "give another --out"
    )


@pytest.fixture(scope="module")
def other_search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("other") / "out"
    search(out, model="mlp", trials=1, fixed=["epochs=1"])
    return out


def test_a_folder_that_is_no_search(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    with pytest.raises(RunError, match="the folder must be new, empty or a search to continue"):
        search(tmp_path)
    (tmp_path / "letter.txt").rename(tmp_path / "study.db")
    (tmp_path / "study.db").write_text("no database at all" * 99)
    with pytest.raises(RunError, match=r"study.db must be a readable study .* give another --out"):
        search(tmp_path)


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"trials": None}, ConfigError, "a search must have a budget or a number of trials"),
        ({"trials": 0}, ConfigError, "trials must be at least 1 (got 0)"),
        ({"budget": 0.0}, ConfigError, "budget must be above 0 seconds (got 0)"),
        ({"splits": [5]}, ConfigError, "split must be between 0 and 1 (got 5)"),
        ({"splits": []}, ConfigError, "splits must name at least one split (got none)"),
        ({"finalists": -1}, ConfigError, "finalists must be at least 0 (got -1)"),
        ({"seeds": ()}, ConfigError, "seeds must hold at least one seed (got none)"),
        ({"model": "mpl"}, ConfigError, "model must be one of"),
        ({"preset": "paper"}, ConfigError, "a preset's name must consist of small letters"),
        ({"preset": "a/b"}, ConfigError, "a preset's name must consist of small letters"),
    ],
)
def test_impossible_searches(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        search(tmp_path / "out", **changes)
    assert str(caught.value).startswith(text)
    assert not (tmp_path / "out").exists()


def test_a_graph_without_splits(tmp_path: Path) -> None:
    bare = graph()
    del bare.train_mask, bare.val_mask, bare.test_mask
    with pytest.raises(GraphError, match="make them with random_splits"):
        search(tmp_path / "out", bare)


# time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("2h", 7200), ("45", 45), (" 1.5h ", 5400), (".5m", 30)],
)
def test_budgets(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "0", "-3m", "3 days", "1h30m", "nan", "inf"])
def test_bad_budgets(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_budget(text)
    assert str(caught.value) == (f"a budget must be a time such as 90s, 30m or 2h (got {text!r})")


def test_the_budget_ends_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(search_module.Search, "_seconds", lambda self: 10.0 * next(clock))
    # one look at the clock before a trial and one in each of three epochs: 0 to 30, 40 to 70, 80
    summary = search(
        tmp_path / "a", graph(1), model="mlp", trials=None, budget=75.0, fixed=["epochs=3"]
    )
    assert summary["trials"] == {"completed": 2, "pruned": 0, "failed": 0}
    assert summary["budget"] == 75.0
    clock = iter(range(10_000))
    # the second trial starts at 40, before the end at 45, and is stopped at 60, after 54
    summary = search(
        tmp_path / "b", graph(1), model="mlp", trials=None, budget=45.0, fixed=["epochs=3"]
    )
    assert summary["trials"] == {"completed": 1, "pruned": 1, "failed": 0}
    assert trials(tmp_path / "b")[1]["message"] == "the budget ran out"


def test_a_budget_too_short_for_one_trial(tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        search(tmp_path / "out", trials=None, budget=1e-9, fixed=["epochs=3"])
    assert str(caught.value) == (
        "at least one trial must be finished within the budget (got none); "
        "give a longer --budget or fewer --splits"
    )


def test_the_command_is_recorded(tmp_path: Path) -> None:
    summary = tune(
        graph(),
        "data/my graph.npz",
        model="mlp",
        trials=1,
        budget=600.0,
        splits=[1],
        seed=2,
        seeds=(2,),
        out=tmp_path / "out",
        fixed=["epochs=1"],
        preset="tuned-fast",
    )
    assert summary["graph"] == "my graph"
    assert summary["command"] == (
        "herofilter tune 'data/my graph.npz' --budget 600s --trials 1 --splits 1 --model mlp "
        "--seed 2 --set epochs=1 --as tuned-fast"
    )


def test_finalists_are_judged_with_further_seeds(tmp_path: Path) -> None:
    data = csbm(num_nodes=60, num_classes=3, num_splits=2, seed=0)
    options = {"graph": "mine", "trials": 3, "fixed": ["epochs=4", "patcher=fast"]}
    plain = tune(data, out=tmp_path / "a", **options)
    judged = tune(data, out=tmp_path / "b", finalists=2, **options)
    again = tune(data, out=tmp_path / "b", finalists=2, **options)
    assert judged["val_accuracy"] == again["val_accuracy"]
    # two splits with three seeds each, against two splits with one
    assert len(judged["val_accuracy"]["values"]) == 6
    assert len(plain["val_accuracy"]["values"]) == 2
    assert "--finalists 2" in judged["command"]
    trials = json.loads((tmp_path / "b" / "trials.json").read_text())
    best = sorted(trials, key=lambda trial: -trial["val_accuracy"])[:2]
    assert judged["best_trial"] in {0, *(trial["number"] for trial in best)}


def test_a_finalist_that_fails_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"model": "mlp", "trials": 3, "fixed": ["epochs=4"]}
    best = search(tmp_path / "plain", graph(1), **options)["best_trial"]
    (record,) = [record for record in trials(tmp_path / "plain") if record["number"] == best]
    winner = make_space("wide", "mlp", graph(1), ["epochs=4"]).config(record["settings"])

    def fail_in_the_finals(
        prepared: Data, model: str, config: Config, *rest: Any, **more: Any
    ) -> Any:
        if config == winner.replace(seed=2):
            raise RunError("the training loss must be a number")
        return train_split(prepared, model, config, *rest, **more)

    replace_training(monkeypatch, fail_in_the_finals)
    summary = search(tmp_path / "out", graph(1), finalists=2, **options)
    assert summary["best_trial"] != best
    # one split with three seeds
    assert len(summary["val_accuracy"]["values"]) == 3


def test_the_command_of_a_continued_search_counts_all_its_trials(tmp_path: Path) -> None:
    data = csbm(num_nodes=60, num_classes=3, num_splits=1, seed=0)
    options = {"graph": "mine", "out": tmp_path, "fixed": ["epochs=2", "patcher=fast"]}
    tune(data, trials=3, **options)
    assert "--trials 3" in tune(data, trials=1, **options)["command"]
