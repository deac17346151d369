import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.data import check_graph, csbm, is_directed, num_splits
from herofilter.errors import ConfigError, RunError
from herofilter.measures import edge_heterophily, node_heterophily
from herofilter.nn import find_model
from herofilter.reproduce import filters, jobs as jobs_module, published as published_module
from herofilter.reproduce.filter_graphs import (
    GRAPHS,
    StudyGraph,
    graph_variant,
    load_graph,
    mixed_graph,
)
from herofilter.reproduce.filter_variants import VARIANTS, variant_config
from herofilter.reproduce.filters import PUBLISHED, Job, movement, run_filters, run_job
from herofilter.reproduce.jobs import StaleFileWarning
from herofilter.training import prepare
from tests.events import stop_after, told

QUICK = {"hidden_channels": 8, "epochs": 6, "refresh_every": 2}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    monkeypatch.setattr(filters, "GRAPHS", {"karate": StudyGraph((0, 2), "tiny")})


def use(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    values = {**QUICK, **changes}
    monkeypatch.setattr(
        filters, "variant_config", lambda variant: variant_config(variant).replace(**values)
    )


def tiny(out: Path, **options: Any) -> dict[str, Any]:
    return run_filters(
        **{"graphs": ("karate",), "variants": ("fixed", "learned"), **options}, out=out
    )


def entries(result: dict[str, Any]) -> dict[str, Any]:
    """Return what mustn't depend on the machine."""
    return {
        variant: {key: value for key, value in entry.items() if key != "seconds"}
        for variant, entry in result["graphs"]["karate"]["variants"].items()
    }


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    seen: list[Job] = []

    def run(job: Job) -> filters.Outcome:
        seen.append(job)
        return run_job(job)

    monkeypatch.setattr(filters, "run_job", run)
    return seen


# what the study is


def test_variants() -> None:
    assert len(VARIANTS) == 13
    configs = {name: variant_config(name) for name in VARIANTS}
    reference = Config().replace(patcher="polynomial", directed="symmetrise", patch_size=9)
    assert configs["learned"] == reference
    assert configs["fixed"] == reference.replace(learn_filter=False)
    assert configs["ppr"] == reference.replace(patcher="fast", relations=("out",))
    assert configs["three-filters"].patcher.filter_starts == ("low", "hop2", "high")
    assert configs["no-patch"] == reference.replace(patch_size=1)
    assert configs["no-mixer"] == reference.replace(num_layers=0)
    unsummed = configs["no-summary-learned"]
    assert unsummed.replace(learn_filter=False) == configs["no-summary-fixed"]
    # each asks something of its own
    assert all(configs[a] != configs[b] for a in configs for b in configs if a < b)


def test_graphs() -> None:
    assert {name: len(graph.splits) for name, graph in GRAPHS.items()} == {
        "texas": 10,
        "wisconsin": 10,
        "cornell": 10,
        "chameleon": 10,
        "squirrel": 10,
        "actor": 10,
        "cora": 10,
        "citeseer": 10,
        "pubmed": 10,
        "dense": 3,
        "noisy": 3,
        "mixed": 3,
    }
    assert len({graph_variant(name) for name in ("dense", "noisy", "mixed")}) == 3
    assert graph_variant("dense").startswith(
        "synthetic, 600 nodes, 4 classes on a ring, heterophily 0.9, average degree 30, feature"
    )


@pytest.mark.parametrize(("name", "level", "degree"), [("dense", 0.9, 30), ("noisy", 0.2, 10)])
def test_synthetic_graphs(name: str, level: float, degree: int) -> None:
    data = load_graph(name)
    check_graph(data)
    assert (data.num_nodes, num_splits(data), data.name) == (600, 3, name)
    assert data.variant == graph_variant(name)
    assert node_heterophily(data) == pytest.approx(level, abs=0.01)
    assert data.edge_index.size(1) / 600 == pytest.approx(degree, rel=0.02)


def test_the_mixed_graph_has_two_regions() -> None:
    data = load_graph("mixed")
    check_graph(data)
    assert (data.num_nodes, num_splits(data), is_directed(data)) == (600, 3, False)
    far = data.edge_index >= 300
    across = far[0] != far[1]
    assert float(across.float().mean()) == pytest.approx(0.03, abs=0.002)
    assert torch.unique(data.edge_index, dim=1).size(1) == data.edge_index.size(1)
    for region, level in ((~far[0] & ~across, 0.1), (far[0] & ~across, 0.9)):
        part = data.clone()
        part.edge_index = data.edge_index[:, region]
        assert edge_heterophily(part) == pytest.approx(level, abs=0.03)


def test_features_of_the_mixed_graph_tell_classes_and_not_regions() -> None:
    data = mixed_graph(3, num_nodes=4000)
    near = torch.arange(4000) < 2000
    means = [
        torch.stack([data.x[side & (data.y == label)].mean(0) for label in range(4)])
        for side in (near, ~near)
    ]
    # noise of a mean of 500 rows has a length of about sqrt(32 / 500) = 0.25; two of them 0.36
    assert float((means[0] - means[1]).norm(dim=1).max()) < 0.6
    assert float(torch.pdist(means[0]).min()) > 1.0


def test_splits_of_the_mixed_graph_share_out_both_regions() -> None:
    data = mixed_graph(0)
    for mask, share in ((data.train_mask, 144), (data.val_mask, 96), (data.test_mask, 60)):
        for half in (mask[:300], mask[300:]):
            assert half.sum(0).tolist() == [share] * 3
    assert torch.equal(mixed_graph(0).edge_index, data.edge_index)
    assert not torch.equal(mixed_graph(1).x, data.x)


def test_every_variant_can_be_trained(tmp_path: Path) -> None:
    result = tiny(tmp_path, variants=tuple(VARIANTS))
    found = result["graphs"]["karate"]["variants"]
    still = {name for name, entry in found.items() if entry["movement"]["values"] == [0.0, 0.0]}
    assert still == {"ppr", "fixed", "no-summary-fixed"}
    assert found["learned"]["movement"]["mean"] > found["spectral"]["movement"]["mean"]
    patches = {name: entry["patch_homophily"]["mean"] for name, entry in found.items()}
    assert patches.pop("no-patch") == 0
    assert all(0 < mean <= 1 for mean in patches.values())


@pytest.mark.parametrize(("patcher", "kind"), [("spectral", "shared"), ("polynomial", "adaptive")])
def test_movement(patcher: str, kind: str) -> None:
    data = csbm(num_nodes=60, num_classes=3, num_splits=1)
    config = Config().replace(patcher=patcher, filter=kind, activation="identity")
    config = config.replace(filter_starts=("low", "hop2"), patch_size=5, directed="symmetrise")
    model = find_model("herofilter").build(prepare(data, config), config)
    assert movement(model) == 0.0
    learned = model.patcher
    with torch.no_grad():
        learned.weights[1].mul_(3)
        start = learned.filters[1].response(learned.eigenvalues, learned.weights[1]) / 3
    expected = float((2 * start).abs().mean() / start.abs().max()) / 2
    assert movement(model) == pytest.approx(expected, rel=1e-4)


# a run


def test_the_result(tmp_path: Path) -> None:
    result = tiny(tmp_path)
    assert result["command"] == "herofilter bench filters --variants fixed,learned"
    assert result["workers"] == [1]
    assert [entry["threads"] for entry in result["environments"]] == [1]
    assert list(result["variants"]) == ["fixed", "learned"]
    assert result["variants"]["fixed"]["settings"] == ["learn_filter=false"]
    assert Config.from_dict(result["variants"]["fixed"]["config"]).train.epochs == 6
    row = result["graphs"]["karate"]
    assert (row["splits"], row["why"]) == ([0, 2], "tiny")
    for variant, entry in row["variants"].items():
        file = json.loads((tmp_path / f"karate-{variant}-seed-0.json").read_text())
        assert list(file["splits"]) == ["0", "2"]
        for measure in filters.MEASURES:
            assert entry[measure]["values"] == [file["splits"][s][measure] for s in "02"]
    assert json.loads(json.dumps(result)) == result


def test_finished_files_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tiny(tmp_path, variants=("fixed",))
    seen = counted(monkeypatch)
    heard: list[Event] = []
    both = tiny(tmp_path, callback=heard.append)
    assert [job.variant for job in seen] == ["learned"]
    assert told(heard) == [(1, 2, "starting"), (2, 2, "learned on karate")]
    assert (
        both["graphs"]["karate"]["variants"]["fixed"]
        == first["graphs"]["karate"]["variants"]["fixed"]
    )


def test_a_split_that_is_missing_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tiny(tmp_path)
    path = tmp_path / "karate-learned-seed-0.json"
    content = json.loads(path.read_text())
    del content["splits"]["0"]
    path.write_text(json.dumps(content))
    seen = counted(monkeypatch)
    assert entries(tiny(tmp_path)) == entries(first)
    assert [(job.variant, job.splits) for job in seen] == [("learned", (0,))]


def test_another_configuration_is_run_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path, variants=("fixed",))
    use(monkeypatch, lr=0.5)
    seen = counted(monkeypatch)
    with pytest.warns(StaleFileWarning, match=r"lr was 0\.01 and is 0\.5"):
        tiny(tmp_path, variants=("fixed",))
    assert len(seen) == 1


def test_an_interrupt_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        tiny(tmp_path, callback=stop_after(1))
    assert [path.name for path in tmp_path.iterdir()] == ["karate-fixed-seed-0.json"]
    seen = counted(monkeypatch)
    tiny(tmp_path)
    assert [job.variant for job in seen] == ["learned"]


def test_other_processes_give_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what a worker sees: a job from a pipe, and none of the changes that were made here
    def afar(function: Any, jobs: list[Job], workers: int) -> Iterator[filters.Outcome]:
        assert workers == 2
        sent = [pickle.loads(pickle.dumps(job)) for job in jobs]
        with monkeypatch.context() as patch:
            patch.setattr(filters, "GRAPHS", GRAPHS)
            patch.setattr(filters, "variant_config", variant_config)
            found = [pickle.dumps(pickle.loads(pickle.dumps(function))(job)) for job in sent]
        yield from (pickle.loads(outcome) for outcome in reversed(found))

    alone = tiny(tmp_path / "a")
    monkeypatch.setattr(jobs_module, "run_jobs", afar)
    shared = tiny(tmp_path / "b", workers=3)
    assert entries(alone) == entries(shared)
    assert (alone["workers"], shared["workers"]) == ([1], [2])


def test_a_failure_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_split = filters.train_split

    def fail(prepared: Any, model: str, config: Config, split: int) -> Any:
        if not config.train.learn_filter:
            raise RunError("the training loss must be a number")
        return train_split(prepared, model, config, split)

    monkeypatch.setattr(filters, "train_split", fail)
    with pytest.raises(RunError) as caught:
        tiny(tmp_path)
    assert str(caught.value) == (
        "every training must finish, but 1 of 2 variants didn't (fixed on karate: the training "
        "loss must be a number); finished ones are kept, so run it again"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["karate-learned-seed-0.json"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"graphs": ("karat",)}, "a graph must be one of karate (got 'karat') (did you mean"),
        ({"variants": ("lerned",)}, "(got 'lerned') (did you mean 'learned'?)"),
        ({"variants": ()}, "variants must name at least one and none twice (got none)"),
        ({"graphs": ("karate", "karate")}, "graphs must name at least one and none twice (got kar"),
        ({"workers": 0}, "workers must be at least 1 (got 0)"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tiny(tmp_path, **options)
    assert text in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_where_results_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out, whole = Path("runs/a"), "herofilter bench filters"
    inside = (out / "filters.json", out / "filters.md")
    published = (Path("results/filters.json"), Path("docs/filters.md"))
    assert PUBLISHED.paths(whole, out) == inside
    os.makedirs("herofilter/reproduce")
    published_module._CHECKOUT.touch()
    assert PUBLISHED.paths(whole, out) == published
    assert PUBLISHED.paths(f"{whole} --graphs texas", out) == inside
    assert PUBLISHED.paths(whole, out, Path("b/my.json")) == (Path("b/my.json"), Path("b/my.md"))
    assert PUBLISHED.paths(whole, out, page=Path("c.md")) == (published[0], Path("c.md"))
