"""What the sections of a report say, on subjects whose answers are known."""

from dataclasses import replace

import pytest
import torch

from herofilter.measures import FitWarning
from herofilter.predict import ColumnImportance
from herofilter.report.figure import Bars
from herofilter.report.page_parts import Chart, Facts, Notices, Section, Table, Tiles, Words
from herofilter.report.plotly_figure import plotly_figure
from herofilter.report.sections.filters import filter_section
from herofilter.report.sections.graph import graph_section
from herofilter.report.sections.making import chosen_epoch, making_section
from herofilter.report.sections.node_groups import by_degree, by_heterophily, neighbour_vote
from herofilter.report.sections.nodes import EVERY_NODE_UP_TO, node_section
from herofilter.report.sections.notices import all_notices, notice_section
from herofilter.report.sections.quality import accuracy_of, majority_accuracy, quality_section
from herofilter.report.subject import Rival, Subject
from tests.report.subjects import history, made_up, with_labels


def charts(section: Section) -> dict[str, Chart]:
    from herofilter.report.page_parts import Page

    return {chart.name: chart for chart in Page("", "", (section,)).charts}


def tiles(section: Section) -> dict[str, str]:
    (found,) = (part for part in section.parts if isinstance(part, Tiles))
    return {tile.name: tile.value for tile in found.tiles}


def test_accuracy_and_majority_are_those_of_the_test_nodes() -> None:
    subject = made_up()
    test = subject.data.test_mask
    right = (subject.predicted == subject.data.y)[test]
    accuracy, error = accuracy_of(subject)
    assert accuracy == pytest.approx(float(right.double().mean()))
    assert 0.02 < error < 0.2
    commonest = torch.bincount(subject.data.y[subject.data.train_mask]).argmax()
    expected = float((subject.data.y[test] == commonest).double().mean())
    assert majority_accuracy(subject) == pytest.approx(expected)
    shown = tiles(quality_section(subject))
    assert shown["Test accuracy"] == f"{100 * accuracy:.1f} %"
    assert shown["Always the commonest class"] == f"{100 * expected:.1f} %"


def test_splits_are_averaged() -> None:
    splits = {
        str(number): {"test_accuracy": value, "test_balanced_accuracy": value / 2}
        for number, value in enumerate((0.5, 0.7))
    }
    section = quality_section(made_up(splits=splits, split=0))
    assert tiles(section)["Test accuracy"] == "60.0 %"
    assert tiles(section)["Balanced accuracy"] == "30.0 %"
    words = next(part for part in section.parts if isinstance(part, Words))
    # the interval of two values so far apart holds the majority's accuracy
    assert "not better than that beyond chance" in words.paragraphs[0]


def test_rivals_stand_beside_the_model() -> None:
    rival = Rival("GCN", 0.99, 0.01, "A remark.")
    chart = charts(quality_section(made_up(rivals=(rival,))))["comparison"]
    assert "points below GCN. A remark." in chart.finding
    assert [row[0] for row in chart.table.rows] == ["HeroFilter", "commonest class", "GCN"]
    assert chart.table.rows[2][1] == "99"


def test_confusion_counts_every_test_node() -> None:
    subject = made_up()
    table = charts(quality_section(subject))["confusion"].table
    counts = [[int(cell) for cell in row[1:]] for row in table.rows]
    assert sum(map(sum, counts)) == subject.judged.numel()
    right = int((subject.predicted == subject.labels)[subject.judged].sum())
    assert sum(counts[number][number] for number in range(3)) == right


def test_without_test_labels_validation_judges_and_without_any_nothing() -> None:
    subject = made_up()
    hidden = with_labels(subject, subject.labels.masked_fill(subject.data.test_mask, -1))
    assert hidden.judged_part == "val"
    assert "Validation accuracy" in tiles(quality_section(hidden))
    unknown = with_labels(subject, subject.labels.masked_fill(~subject.data.train_mask, -1))
    section = quality_section(unknown)
    assert not charts(section)
    assert any(
        "no labelled node is left" in notice.sentence.lower() for notice in all_notices(unknown)
    )


def test_groups_hold_all_nodes_and_the_vote_knows_training_labels_only() -> None:
    subject = made_up(600)
    for chart in (by_heterophily(subject), by_degree(subject)):
        (bars, *_) = chart.figure.panels[0].marks
        assert isinstance(bars, Bars)
        sizes = [int(str(label).rpartition("(")[2][:-1]) for label in bars.labels]
        assert sum(sizes) == subject.judged.numel()
    vote = neighbour_vote(subject)
    hidden = subject.labels.masked_fill(~subject.data.train_mask, -1)
    for row in range(0, vote.numel(), 17):
        near = hidden[subject.neighbours(int(subject.judged[row]))]
        counts = torch.bincount(near[near >= 0], minlength=3)
        if counts.sum():
            assert counts[vote[row]] == counts.max()
    changed = subject.labels.clone()
    changed[subject.data.test_mask] = 0
    assert torch.equal(neighbour_vote(with_labels(subject, changed)), vote)


def test_the_graph_in_words() -> None:
    section = graph_section(made_up(notes=("3 rows repeat",)))
    words = next(part for part in section.parts if isinstance(part, Words))
    assert words.paragraphs[0].startswith("made-up has 120 nodes and ")
    assert "neighbours mostly differ" in words.paragraphs[0]
    assert words.paragraphs[1] == "From the tables: 3 rows repeat."
    assert set(charts(section)) == {"heterophily", "compatibility", "classes", "spectrum"}
    counted = charts(section)["heterophily"].table.rows
    assert sum(float(row[1]) for row in counted) <= 120


def test_filters_are_drawn_with_what_they_are_compared_with() -> None:
    section = filter_section(made_up())
    found = charts(section)
    assert set(found) == {"response", "movement", "patch-homophily", "rank-homophily"}
    names = found["response"].table.titles
    assert {"filter-0", "filter-1", "density of eigenvalues"} < set(names)
    assert "Training hardly moved" in found["movement"].finding
    shares = {row[0]: row[1] for row in found["patch-homophily"].table.rows}
    assert set(shares) == {"filter-0", "filter-1", "edges of the graph", "by chance"}


def test_choices_of_patches_up_to_the_kept_epoch_are_drawn_faintly() -> None:
    subject = made_up()
    assert subject.curves is not None
    few = (-1.0, 0.0, 1.0)
    flat = {name: [0.5, 1.0, 2.0] for name in subject.curves.end}
    moved = replace(subject.curves, between={2: flat, 6: flat, 9: flat}, between_grid=few)
    chart = charts(filter_section(replace(subject, curves=moved)))["movement"]
    faint = [mark for mark in chart.figure.panels[0].marks if mark.opacity < 1]
    # the eighth epoch was kept
    assert [mark.name for mark in faint if mark.name.startswith("filter-0")] == [
        "filter-0, after 2 epochs",
        "filter-0, after 6 epochs",
    ]
    assert faint[0].opacity < faint[-1].opacity
    assert list(faint[0].y) == [0.25, 0.5, 1.0]
    assert chart.finding.endswith(
        "Faint lines show the filters when patches were chosen anew, after 2 and 6 epochs, the "
        "later the darker."
    )
    traces = plotly_figure(chart.figure)["data"]
    assert [trace["showlegend"] for trace in traces] == [False] * 4 + [True] * 4


def test_patch_homophily_is_that_of_the_patches() -> None:
    subject = made_up()
    assert subject.patches is not None
    alone = replace(subject, patches=subject.patches.slot("filter-1"), curves=None)
    found = charts(filter_section(alone))["patch-homophily"].table.rows
    pairs = subject.patches.slot("filter-1").induced_graph().edge_index
    first, second = subject.labels[pairs]
    assert float(found[0][1]) == pytest.approx(100 * float((first == second).double().mean()), 1e-3)


@pytest.mark.parametrize(("patches", "text"), [(True, "fixed rule"), (False, "reads no patches")])
def test_models_without_a_learned_filter_say_so(patches: bool, text: str) -> None:
    subject = replace(made_up(), curves=None)
    subject = subject if patches else replace(subject, patches=None)
    section = filter_section(subject)
    words = next(part for part in section.parts if isinstance(part, Words))
    assert text in words.paragraphs[0]
    assert bool(charts(section)) is patches


def explorer(subject: Subject) -> dict:
    return node_section(subject).parts[-1].data


def test_the_explorer_knows_patches_neighbours_and_labels() -> None:
    subject = made_up()
    found = explorer(subject)
    nodes, centres = found["nodes"], found["centres"]
    assert len(centres["node"]) == 120
    row = 17
    assert nodes["id"][centres["node"][row]] == "node 17"
    members = [nodes["id"][member] for member in centres["members"][row]]
    assert subject.patches is not None
    assert members == [subject.id_of(int(node)) for node in subject.patches.index[row]]
    near = sorted(nodes["id"][other] for other in centres["neighbours"][row])
    assert near == sorted(subject.id_of(int(node)) for node in subject.neighbours(row))
    # only training labels are known ones
    for place, node in enumerate(range(120)):
        known = int(subject.labels[node]) if bool(subject.data.train_mask[node]) else -1
        assert nodes["known"][place] == known
    mistakes = {centres["node"][row] for row in found["picks"]["mistake"]}
    test = subject.data.test_mask
    assert len(mistakes) == int((subject.predicted != subject.labels)[test].sum())


def test_large_graphs_have_a_sample() -> None:
    subject = made_up(EVERY_NODE_UP_TO + 500)
    section = node_section(subject)
    found = explorer(subject)
    assert 300 < len(found["centres"]["node"]) <= 600
    assert "this page holds a sample" in section.parts[-1].lead
    assert found == explorer(subject)


def test_columns_that_counted_are_shown() -> None:
    entry = {"columns": [{"column": "age", "value": "7", "without": 0.4}], "said": ["age counts"]}
    importance = (ColumnImportance("age", 0.2, 0.1, 0.3, 0.05, 0.01, 0.09),)
    subject = replace(made_up(), explain=lambda nodes: [entry] * len(nodes), importance=importance)
    section = node_section(subject)
    assert "With age shuffled" in charts(section)["columns"].finding
    explained = explorer(subject)["centres"]["explained"]
    assert len(explained) > 25
    assert next(iter(explained.values())) == {
        "said": ["age counts"],
        "columns": [["age", "7", 0.4]],
    }


def test_how_it_was_made() -> None:
    made = {"seconds": 12.3, "peak_memory": 3 * 2**30}
    config = {"train": {"seed": 5, "lr": 0.123}}
    subject = made_up(
        command="herofilter train x", config=config, made=made, metrics={"seconds": 4}
    )
    section = making_section(subject)
    facts = dict(next(part for part in section.parts if isinstance(part, Facts)).pairs)
    assert facts["peak memory"] == "3 GiB"
    assert facts["time to train"] == "4.0 s"
    assert facts["seed"] == "5"
    assert facts["chosen epoch"] == "8 of 12"
    assert "Epoch 8 of 12 was kept" in charts(section)["accuracy-curve"].finding
    settings = [dict(part.pairs) for part in section.parts if isinstance(part, Facts)][1]
    assert settings["train.lr"] == "0.123 (changed)"


def test_the_metrics_name_the_chosen_epoch() -> None:
    assert chosen_epoch(made_up(metrics={"best_epoch": 3}).record) == 3
    assert chosen_epoch(made_up(history=[]).record) is None


def test_splits_have_a_table() -> None:
    splits = {"0": {"test_accuracy": 0.5}, "1": {"test_accuracy": 0.7}}
    section = making_section(made_up(splits=splits))
    (table,) = (part for part in section.parts if isinstance(part, Table))
    assert table.rows == (("0", "50.0 %"), ("1", "70.0 %"))


def notices(subject: Subject) -> list[str]:
    (part,) = notice_section(subject).parts
    assert isinstance(part, Notices)
    return [f"{notice.severity} {notice.where}: {notice.sentence}" for notice in part.notices]


def test_a_good_model_has_nothing_to_know_first() -> None:
    (only,) = notices(made_up(wrong=0.2))
    assert only.startswith("good : Nothing that would mislead was found.")


@pytest.mark.parametrize(
    ("record", "wrong", "expected"),
    [
        (
            {"warnings": (FitWarning("telling-column", "column a tells", "leave it", "columns"),)},
            0.2,
            "serious nodes: Column a tells.",
        ),
        (
            {"warnings": (FitWarning("imbalance", "90 % are x", "weigh", "classes"),)},
            0.2,
            "careful graph: 90 % are x.",
        ),
        ({}, 1.0, "serious quality: It isn't better than always naming the commonest class"),
        ({}, 0.5, "careful quality: Its confidence is on average"),
        ({"history": history(12, 11)}, 0.2, "careful making: The last epoch was the best one"),
        (
            {
                "metrics": {
                    "kept": "herofilter",
                    "models": {
                        "mlp": {"test": {"accuracy": 0.8}},
                        "herofilter": {"test": {"accuracy": 0.81}},
                    },
                }
            },
            0.2,
            "careful quality: It is as good without edges: on a node",
        ),
    ],
)
def test_what_to_know_first(record: dict, wrong: float, expected: str) -> None:
    assert any(text.startswith(expected) for text in notices(made_up(wrong=wrong, **record)))


def test_the_most_serious_comes_first() -> None:
    found = (
        FitWarning("imbalance", "a", "b", "classes"),
        FitWarning("repeated-rows", "c", "d", "split"),
    )
    assert [text.split()[0] for text in notices(made_up(warnings=found))] == ["serious", "careful"]
