"""Test labels choose nothing: whatever they are, every entry point keeps the same model.

Each entry point is run on a graph, then on the same graph with test labels that flatter the model
it kept, then with labels that contradict it. All that was chosen must stay the same to the last
bit, and only the reported test accuracy may follow the labels.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter import HeroFilterClassifier
from herofilter.config import Config
from herofilter.data import TableGraph, csbm, select_split
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.files import load_tensors
from herofilter.reproduce import jobs, table_graphs, table_rows, tables, trials
from herofilter.reproduce.result_file import ResultFile
from herofilter.reproduce.tables import run_table
from herofilter.training import recipe, train_splits
from herofilter.training.calibration import fit_temperature
from herofilter.training.fit_model import fit_model
from herofilter.training.predictor import Predictor
from herofilter.training.recipe import train_split
from herofilter.training.search.auto import train_auto
from herofilter.training.search.fitting import Fitted, fit_graph
from herofilter.training.search.portfolio import Member
from herofilter.training.search.tuning import tune

QUICK = Config().replace(epochs=12, hidden_channels=8, feature_expansion=1.0, patch_size=4, lr=0.05)
SETTINGS = ("epochs=12", "hidden_channels=8", "feature_expansion=1.0", "patch_size=4", "lr=0.05")


@dataclass(frozen=True)
class Kept:
    """What an entry point kept.

    Args:
        chosen: all that was chosen on the way; nothing in it may depend on test labels.
        predicted: the class of every node by the model that was kept.
        test_accuracy: as reported; None where the entry point reads no test labels at all.
    """

    chosen: Any
    predicted: Tensor
    test_accuracy: float | None


def graph() -> Data:
    """Return sixty nodes in one split, noisy enough that models disagree."""
    return csbm(60, 3, average_degree=5, feature_signal=2, seed=2, num_splits=1)


def with_test_labels(data: Data, y: Tensor) -> Data:
    """Return a copy whose test nodes have the labels ``y`` ``[n]``."""
    changed = data.clone()
    changed.y = torch.where(data.test_mask.view(-1), y, data.y)
    return changed


def run_folder_weights(folder: Path) -> dict[str, Tensor]:
    """Return the weights of split 0 in a run folder."""
    return load_tensors(folder / "split-0" / "weights.safetensors")[0]


def run_folder_predictions(folder: Path) -> Tensor:
    """Return what the model of split 0 in a run folder predicts."""
    return Predictor.load(folder).predict_proba().argmax(1)


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(entry) for key, entry in value.items() if key != "seconds"}
    return [without_times(entry) for entry in value] if isinstance(value, list) else value


# --- the entry points


def by_train_splits(data: Data, out: Path) -> Kept:
    config = QUICK.replace(label_tokens=True)
    summary = train_splits(data, "herofilter", config, [0], out=out)
    return Kept(
        {
            "val_accuracy": summary["val_accuracy"],
            "history": (out / "split-0" / "history.json").read_text(),
            "weights": run_folder_weights(out),
        },
        run_folder_predictions(out),
        summary["test_accuracy"]["mean"],
    )


def by_train_auto(data: Data, out: Path) -> Kept:
    members = {
        "flat": Member("flat", "mlp", QUICK, "a test"),
        "smooth": Member("smooth", "gcn", QUICK, "a test"),
        "labels": Member("labels", "herofilter", QUICK.replace(label_tokens=True), "a test"),
    }
    summary = train_auto(data, QUICK, out=out, ensemble=True, members=tuple(members.values()))
    return Kept(
        {
            "picked": summary["picked"],
            "members": without_times(summary["members"]),
            "ensemble": {key: summary["ensemble"][key] for key in ("members", "val_accuracy")},
            "weights": run_folder_weights(out),
        },
        run_folder_predictions(out),
        summary["test_accuracy"]["mean"],
    )


def by_tune(data: Data, out: Path) -> Kept:
    fixed = [*SETTINGS, "input_dropout=0"]
    found = tune(data, "graph", model="mlp", trials=3, finalists=1, out=out, fixed=fixed)
    keys = ("config", "best_trial", "val_accuracy", "trials", "default_val_accuracy")
    return Kept(
        {
            **{key: found[key] for key in keys},
            "weights": run_folder_weights(out / "run"),
        },
        run_folder_predictions(out / "run"),
        found["test_accuracy"]["mean"],
    )


def table_graph(data: Data) -> TableGraph:
    chosen = select_split(data, 0)
    return TableGraph(chosen, pa.array(range(60)), ("a", "b", "c"), FeatureEncoder(()))


def fitted(data: Data) -> Fitted:
    return fit_graph(table_graph(data), budget=600.0, settings=SETTINGS, trials=2)


def by_fit_graph(data: Data, out: Path) -> Kept:
    found = fitted(data)
    return Kept(
        {
            "model": found.saved.model,
            "said": found.said,
            "history": found.saved.history,
            "weights": found.saved.state,
            "candidates": {
                name: (
                    entry.predictor.saved.config.to_dict(),
                    entry.predictor.temperature,
                    entry.val,
                    entry.trials,
                )
                for name, entry in found.candidates.items()
            },
        },
        found.predictor.predict_proba().argmax(1),
        found.saved.metrics["models"][found.saved.metrics["kept"]]["test"]["accuracy"],
    )


def by_estimator(data: Data, model: str) -> Kept:
    classifier = HeroFilterClassifier(model=model, epochs=12, hidden_channels=8, lr=0.05)
    classifier.fit(select_split(data, 0))
    saved = classifier.saved_
    return Kept(
        {
            "model": saved.model,
            "config": saved.config.to_dict(),
            "temperature": saved.temperature,
            "history": saved.history,
            "metrics": without_times(saved.metrics),
            "weights": saved.state,
            "probabilities": torch.from_numpy(classifier.predict_proba()),
        },
        torch.from_numpy(np.asarray(classifier.predict()).astype(np.int64)),
        None,
    )


def by_table(data: Data, out: Path, nested: bool) -> Kept:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "kept_graph", lambda name: data)
        small = {**trials.PROTOCOL, "epochs": 12, "hidden_channels": 8}
        for room in (table_rows, tables):
            patch.setattr(room, "PROTOCOL", small)
        patch.setattr(table_graphs, "NESTED_UP_TO", 100 if nested else 0)
        patch.setattr(table_graphs, "SEARCH_SPLITS", ((100, 1),))
        options: dict[str, Any] = {"graphs": ["karate"], "rows": ["gcn"], "splits": [0]}
        summary = run_table("heterophilic", **options, trials=5, out=out)
    cell = summary["graphs"]["karate"]["rows"]["gcn"]
    config = Config().replace(**small).replace(**cell["choices"][0]["settings"])
    train_splits(data, "gcn", config, [0], out=out / "again")
    rows = ResultFile(out / "trainings.jsonl").records
    searched = [row for key, row in rows.items() if key.stage == ("nested" if nested else "search")]
    assert len(searched) == 5
    return Kept(
        {
            "choices": cell["choices"],
            "val": cell["val"],
            "rows": [without_test(without_times(row)) for row in searched],
        },
        run_folder_predictions(out / "again"),
        cell["test"]["mean"],
    )


def without_test(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if not key.startswith("test_")}


ENTRY_POINTS: dict[str, Callable[[Data, Path], Kept]] = {
    "train_splits": by_train_splits,
    "train_auto": by_train_auto,
    "tune": by_tune,
    "fit_graph": by_fit_graph,
    "estimator": lambda data, out: by_estimator(data, "herofilter"),
    "estimator, auto": lambda data, out: by_estimator(data, "auto"),
    "table, nested": lambda data, out: by_table(data, out, nested=True),
    "table, shared": lambda data, out: by_table(data, out, nested=False),
}


def assert_same(one: Any, other: Any, where: str = "") -> None:
    """Compare nested values bit for bit, and say where they differ."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, Tensor):
        assert torch.equal(one, other), where
    else:
        assert one == other, where


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_test_labels_choose_nothing(name: str, tmp_path: Path) -> None:
    run, data = ENTRY_POINTS[name], graph()
    kept = run(data, tmp_path / "honest")
    poisons = {"flattering": kept.predicted, "contrary": (kept.predicted + 1) % 3}
    for poison, y in poisons.items():
        changed = with_test_labels(data, y)
        assert not torch.equal(changed.y, data.y)
        found = run(changed, tmp_path / poison)
        assert_same(kept.chosen, found.chosen, poison)
        assert torch.equal(kept.predicted, found.predicted)
        if kept.test_accuracy is not None:
            # the labels did change: the one look at them, at the end, says so
            assert found.test_accuracy == (1.0 if poison == "flattering" else 0.0)


def table_search(data: Data, out: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "kept_graph", lambda name: data)
        config = QUICK.replace(epochs=2)
        found = jobs.run_job(jobs.TrainingJob("karate", "mlp", "mlp", config, 0, score_test=False))
    assert "val_accuracy" in found.metrics
    assert not any(key.startswith("test_") for key in found.metrics)


@pytest.mark.parametrize(
    ("room", "run"),
    [
        (recipe, lambda data, out: fit_graph(table_graph(data), 600.0, SETTINGS, trials=1)),
        (recipe, lambda data, out: by_estimator(data, "mlp")),
        (jobs, table_search),
    ],
    ids=["fit_graph", "estimator", "table search"],
)
def test_trainings_that_choose_have_no_test_score(
    room: Any, run: Callable[[Data, Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = []

    def watched(*arguments: Any, **options: Any) -> Any:
        network, result = train_split(*arguments, **options)
        scores.append(result.test.accuracy)
        return network, result

    monkeypatch.setattr(room, "train_split", watched)
    run(graph(), tmp_path / "out")
    assert scores
    assert all(math.isnan(value) for value in scores)


# --- the temperature is that of the validation nodes


def doubtful_validation() -> Data:
    """Return a graph half of whose validation labels are wrong, so that they ask for doubt."""
    data = graph()
    wrong = data.val_mask.view(-1).nonzero().view(-1)[::2]
    data.y[wrong] = (data.y[wrong] + 1) % 3
    return data


def assert_of_validation(temperature: float, logits: Tensor, data: Data) -> None:
    parts = {part: data[f"{part}_mask"] for part in ("train", "val", "test")}
    wanted = {part: fit_temperature(logits[mask], data.y[mask]) for part, mask in parts.items()}
    assert temperature == pytest.approx(wanted["val"], rel=1e-4)
    # far from what the other parts ask for, or it could be any of them
    assert wanted["val"] > 1.2 * max(wanted["train"], wanted["test"])


def test_fit_graph_takes_its_temperatures_from_validation() -> None:
    data = doubtful_validation()
    chosen = select_split(data, 0)
    candidates = fit_graph(table_graph(data), 600.0, SETTINGS, trials=1).candidates
    # the others are as unsure of test nodes here, or of all
    for name in ("mlp", "gcn", "herofilter"):
        model = candidates[name].predictor
        assert_of_validation(model.temperature, model.predict_logits(), chosen)


@pytest.mark.parametrize("model", ["mlp", "herofilter"])
def test_the_estimator_takes_its_temperature_from_validation(model: str) -> None:
    data = select_split(doubtful_validation(), 0)
    fit = fit_model(data, ("a", "b", "c"), model, QUICK)
    assert_of_validation(fit.temperature, fit.predict_logits(), data)


def test_fit_graph_keeps_what_validation_prefers() -> None:
    found = fitted(graph())
    accuracy = {name: entry.val["accuracy"] for name, entry in found.candidates.items()}
    assert len(set(accuracy.values())) > 1
    assert accuracy[found.saved.metrics["kept"]] == max(accuracy.values())
