"""What is said of the edges, word for word."""

import pytest
import torch

from herofilter.training.search.verdict import (
    Comparison,
    edges_sentence,
    first_within_error,
    paired_errors,
    paired_hits,
)


def log_probabilities(right: float, count: int, y: torch.Tensor) -> torch.Tensor:
    rows = torch.full((count, 2), 1 - right)
    rows[torch.arange(count), y] = right
    return rows.log()


def test_errors_grow_with_the_root_of_the_number_of_nodes() -> None:
    generator = torch.Generator().manual_seed(0)
    found = []
    for count in (400, 1600):
        y = torch.randint(2, (count,), generator=generator)
        noise = torch.randn(count, 2, generator=generator)
        one = (log_probabilities(0.7, count, y) + 0.3 * noise).log_softmax(1)
        found.append(paired_errors(one, log_probabilities(0.65, count, y), y))
    assert found[1] / found[0] == pytest.approx(2, rel=0.4)
    assert found[0] > 2


def test_errors_against_a_slow_loop() -> None:
    generator = torch.Generator().manual_seed(1)
    y = torch.randint(3, (50,), generator=generator)
    one, other = (torch.randn(50, 3, generator=generator).log_softmax(1) for _ in range(2))
    values = [float(one[i, y[i]] - other[i, y[i]]) for i in range(50)]
    mean = sum(values) / 50
    deviation = (sum((value - mean) ** 2 for value in values) / 49) ** 0.5
    assert paired_errors(one, other, y) == pytest.approx(mean / (deviation / 50**0.5), rel=1e-5)
    assert paired_errors(one, one, y) == 0


@pytest.mark.parametrize(
    ("found", "unfinished", "sentence"),
    [
        (
            Comparison(4.4, 9.0),
            (),
            "the edges help: +4.4 points of accuracy on validation, beyond chance",
        ),
        (
            Comparison(4.4, 9.0),
            ("GCN",),
            "the edges help: +4.4 points of accuracy on validation, beyond chance",
        ),
        (
            Comparison(0.1, 0.3),
            (),
            "the edges do not help on this graph: +0.1 points of accuracy "
            "on validation, no more than chance",
        ),
        (
            Comparison(-2.0, -5.0),
            (),
            "the edges do not help on this graph: -2.0 points of accuracy on validation",
        ),
        (
            Comparison(0.1, 0.3),
            ("GCN", "HeroFilter"),
            "whether the edges help can't be said: +0.1 "
            "points of accuracy on validation so far, but not enough time (GCN, HeroFilter not "
            "finished); raise --budget",
        ),
        (
            None,
            ("HeroFilter",),
            "whether the edges help can't be said: not enough time (HeroFilter "
            "not finished); raise --budget",
        ),
    ],
)
def test_sentences(found: Comparison | None, unfinished: tuple[str, ...], sentence: str) -> None:
    assert edges_sentence(found, "accuracy", unfinished, True) == sentence


def test_a_graph_without_edges() -> None:
    said = edges_sentence(Comparison(0.0, 0.0), "accuracy", (), False)
    assert said == "the graph has no edges, so every model sees single nodes"


def test_losses_of_boosters_count_only_beside_a_gain() -> None:
    assert Comparison(0.5, 0.2, 8.0).helps
    assert not Comparison(0.0, 0.2, 8.0).helps
    assert not Comparison(0.5, 0.2, 2.5).helps
    assert Comparison(0.5, 2.1).helps


def test_hits_against_a_slow_loop() -> None:
    generator = torch.Generator().manual_seed(2)
    y = torch.randint(2, (60,), generator=generator)
    one, other = (torch.randn(60, 2, generator=generator) for _ in range(2))
    values = [int(one[i].argmax() == y[i]) - int(other[i].argmax() == y[i]) for i in range(60)]
    mean = sum(values) / 60
    deviation = (sum((value - mean) ** 2 for value in values) / 59) ** 0.5
    assert paired_hits(one, other, y) == pytest.approx(mean / (deviation / 60**0.5))


@pytest.mark.parametrize(("fewer", "found"), [(1, 0), (3, 1)])
def test_the_simplest_within_one_error_by_pairs(fewer: int, found: int) -> None:
    # hits that only the kept model has, against one that only the other has
    y = torch.zeros(40).long()
    right, wrong = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    kept, simple = (right.repeat(40, 1) for _ in range(2))
    kept[0], simple[1 : 2 + fewer] = wrong, wrong
    differences = [-1.0, *[1.0] * (1 + fewer), *[0.0] * (38 - fewer)]
    error = torch.tensor(differences).std() / 40**0.5
    assert (fewer / 40 <= error) == (found == 0)
    assert first_within_error([simple, kept], kept, y) == found
    assert first_within_error([simple], kept, y) == (0 if found == 0 else None)
