import pytest
import torch

from herofilter.config import Config, paper_config
from herofilter.nn import HeroFilter, find_model
from herofilter.patchers import ShuffledPatcher
from herofilter.reproduce.studies.components import ARXIV, Components
from herofilter.reproduce.studies.graphs import study_graph
from herofilter.reproduce.studies.patch_induced import PatchInduced, induced_graph
from herofilter.reproduce.studies.patch_order import PatchOrder, shuffle
from herofilter.reproduce.studies.patchers import Patchers
from herofilter.reproduce.studies.recipe import (
    FIRST,
    LAST,
    RAW,
    STEPS,
    Recipe,
    judge_level,
    judge_levels,
    step_config,
)
from herofilter.reproduce.studies.study import Finished
from herofilter.reproduce.studies.variants import VariantStudy
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, STRONGER, WEAKER
from herofilter.training import prepare

ABLATIONS = (Patchers(), PatchOrder(), PatchInduced(), Components(), Recipe())


@pytest.mark.parametrize("study", ABLATIONS, ids=lambda study: study.name)
def test_every_claim_is_about_trainings_of_the_study(study: VariantStudy) -> None:
    for claim in study.claims(list(study.graphs)):
        assert claim.graph in study.graphs
        assert {claim.first, claim.second} <= set(study.titles)
    assert {variant for _, variant in study.paper} <= set(study.titles)
    assert {graph for graph, _ in study.paper} <= set(study.graphs)


def test_points_are_the_papers_differences() -> None:
    found = {
        (claim.graph, claim.first, claim.second): claim.points
        for study in ABLATIONS
        for claim in study.claims(list(study.graphs))
    }
    # as printed in the paper's text and tables
    assert found["chameleon", "learned-ranked", "learned-random"] == pytest.approx(6.3)
    assert found["chameleon", "gcn-patch", "gcn"] == pytest.approx(16.1)
    assert found["cora:public", "gcn", "gcn-patch"] == pytest.approx(2.0)
    assert found["chameleon", "adaptive", "heat"] == pytest.approx(9.6)
    assert found[ARXIV, "both", "none"] == pytest.approx(1.85)
    assert found["cora", "both", "none"] is None


def test_values_are_paired_by_split() -> None:
    study = PatchOrder()
    tasks = study.tasks(quick=True)
    values = {"ranked": (0.6, 0.9), "random": (0.5, 0.79)}
    finished = [
        Finished(
            task,
            {
                "test_accuracy": values[task.variant.split("-")[1]][task.split],
                "val_accuracy": 0.5,
                "test_balanced_accuracy": 0.25 if task.variant == "learned-random" else 0.6,
            },
        )
        for task in tasks
    ]
    summary = study.summarise(finished)
    constant = [line for line in summary.finding.text if "constant answer" in line]
    assert len(constant) == 1
    assert constant[0].startswith(f"{study.titles['learned-random']} on karate")
    assert "+10.5 points (95 % interval +4.1 to +16.9): confirmed" in summary.finding.text[1]
    assert summary.finding.word == CONFIRMED


def test_the_recipe_leads_from_algorithm_1_to_the_defaults() -> None:
    assert step_config(FIRST) == paper_config()
    assert step_config(LAST) == Config()
    configs = [step_config(step) for step in STEPS]
    assert len(set(configs)) == len(configs)
    assert configs[-1].patcher.patcher == "polynomial"
    claims = Recipe().claims(["texas", "cora"])
    # tokens of raw features are too wide for Cora
    assert len(claims) == 2 * len(STEPS) - len(RAW)
    assert claims[0][:3] == ("texas", "residual", FIRST)
    assert claims[-1][:3] == ("cora", LAST, "polynomial")
    variants = {(task.graph, task.variant) for task in Recipe().tasks(quick=False)}
    assert {(claim.graph, claim.first) for claim in claims} <= variants
    assert {(claim.graph, claim.second) for claim in claims} <= variants
    assert ("cora", FIRST) not in variants


@pytest.mark.parametrize(
    ("words", "word"),
    [
        ((CONFIRMED, CONFIRMED), CONFIRMED),
        ((CONFIRMED, STRONGER), STRONGER),
        ((CONFIRMED, WEAKER), WEAKER),
        ((WEAKER, NOT_CONFIRMED), NOT_CONFIRMED),
        ((), NOT_CONFIRMED),
    ],
)
def test_the_word_for_levels(words: tuple[str, ...], word: str) -> None:
    assert judge_levels(dict(zip("ab", words, strict=False)))[0] == word


def test_a_level_needs_an_interval() -> None:
    assert judge_level([0.9], 90.0) == NOT_CONFIRMED
    assert judge_level([0.9, 0.91, 0.92], 80.0) == STRONGER


@pytest.mark.parametrize("patcher", ["polynomial", "fast"])
def test_shuffling_changes_the_order_alone(patcher: str) -> None:
    config = Config().replace(patcher=patcher, patch_size=8)
    prepared = prepare(study_graph("karate"), config)
    model = find_model("herofilter").build(prepared, config)
    shuffled = shuffle(model, prepared)
    assert isinstance(model, HeroFilter)
    assert isinstance(shuffled, HeroFilter)
    assert isinstance(shuffled.patcher, ShuffledPatcher) == (patcher == "polynomial")
    ranked, mixed = model.patches().index, shuffled.patches().index
    assert not torch.equal(ranked, mixed)
    assert torch.equal(ranked.sort(1).values, mixed.sort(1).values)
    assert shuffled.num_summaries == model.num_summaries
    assert shuffled(prepared).shape == model(prepared).shape


def test_the_induced_graph_links_nodes_to_their_patches() -> None:
    task = next(task for task in PatchInduced().tasks(quick=True) if task.variant == "gcn-patch")
    data, induced = study_graph(task.graph), induced_graph(task)
    source, target = induced.edge_index
    assert (source != target).all()
    assert torch.bincount(source).max() <= task.config.patcher.patch_size - 1
    assert not torch.equal(induced.edge_index, data.edge_index)
    assert torch.equal(induced.y, data.y)
    assert induced.edge_weight is None


def test_cora_is_repeated_by_seed_on_its_public_split() -> None:
    tasks = [task for task in Patchers().tasks(quick=False) if task.graph == "cora:public"]
    assert {task.split for task in tasks} == {0}
    assert {task.config.train.seed for task in tasks} == set(range(10))
