import math

import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Data

from herofilter.measures import edge_heterophily
from herofilter.theory import label_spectrum
from tests.awkward import AWKWARD, no_edges
from tests.measures.test_heterophily import agree, graphs, pair_counts


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_the_mean_frequency_is_the_edge_heterophily(data: Data) -> None:
    counts = pair_counts(data)
    total = sum(counts.values())
    unlike = sum(count for (c, d), count in counts.items() if c != d)
    assert agree(label_spectrum(data).mean_frequency, unlike / total if total else math.nan)


@pytest.mark.parametrize("name", AWKWARD)
def test_energy_is_a_distribution(name: str) -> None:
    found = label_spectrum(AWKWARD[name]())
    assert bool((found.energy >= 0).all())
    assert float(found.energy.sum()) == pytest.approx(0.0 if name == "no_edges" else 1.0)
    assert found.energy_between(-1, 1) == pytest.approx(float(found.energy.sum()))


def ring(labels: list[int], start: int = 0) -> tuple[torch.Tensor, list[int]]:
    nodes = torch.arange(start, start + len(labels))
    return torch.stack([nodes, nodes.roll(-1)]), labels


def test_two_graphs_of_one_heterophily_need_opposite_filters() -> None:
    edges, labels = ring([0, 0, 1, 1] * 4)
    middle = Data(edge_index=edges, y=torch.tensor(labels))
    parts = [ring([0] * 4), ring([1] * 4, 4), ring([0, 1] * 2, 8), ring([1, 0] * 2, 12)]
    ends = Data(
        edge_index=torch.cat([edge for edge, _ in parts], dim=1),
        y=torch.tensor([label for _, part in parts for label in part]),
    )
    assert edge_heterophily(middle) == edge_heterophily(ends) == 0.5
    first, second = label_spectrum(middle), label_spectrum(ends)
    # what tells the classes apart: all of it in the middle, or all of it at both ends
    assert first.energy_between(-0.01, 0.01) == pytest.approx(0.5)
    assert first.energy_between(-1, -0.99) == pytest.approx(0.0)
    assert second.energy_between(-0.01, 0.01) == pytest.approx(0.0)
    assert second.energy_between(-1, -0.99) == pytest.approx(0.25)


def test_no_edges_have_no_frequency() -> None:
    assert math.isnan(label_spectrum(no_edges()).mean_frequency)
