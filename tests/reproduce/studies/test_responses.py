import math

import pytest
import torch
from torch_geometric.data import Data

from herofilter.baselines import ChebNet
from herofilter.baselines.chebyshev import chebyshev_filter
from herofilter.config import Config
from herofilter.errors import RunError
from herofilter.nn import find_model
from herofilter.reproduce.studies.graphs import blocks, study_graph
from herofilter.reproduce.studies.monotonicity import correlation, judge_monotonicity
from herofilter.reproduce.studies.responses import response_of
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER
from herofilter.training import prepare

GRID = torch.linspace(0, 2, 9)


def test_chebnet_is_what_its_layers_do_to_an_eigenvector() -> None:
    # an edge: eigenvectors (1, 1) at 0 and (1, -1) at 2
    edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    torch.manual_seed(0)
    model = ChebNet(3, 5, 4, hops=3)
    for value, vector in ((0.0, [1.0, 1.0]), (2.0, [1.0, -1.0])):
        gain = torch.eye(3)
        for conv in model.convs:
            # what each map does to a unit vector of every channel
            weights = [lin(torch.eye(gain.size(1))).detach() for lin in conv.lins]
            units = torch.eye(len(weights))
            on_vector = [
                float(chebyshev_filter(edge, unit, torch.tensor(vector).unsqueeze(1))[0])
                for unit in units
            ]
            gain = gain @ sum(t * w for t, w in zip(on_vector, weights, strict=True))
        found = response_of(model, torch.tensor([value]))
        assert found.item() == pytest.approx(gain.norm().item(), rel=1e-5)


def test_herofilters_curve_is_read_at_one_minus_lambda() -> None:
    data = study_graph(blocks(0.5, 60))
    config = Config().replace(patcher="polynomial", filter_starts=("low",))
    model = find_model("herofilter").build(prepare(data, config), config)
    # low is (1 + λ) / 2 on the adjacency, so 1 - λ / 2 on the Laplacian
    assert torch.allclose(response_of(model, GRID), 1 - GRID / 2, atol=1e-5)


def test_a_model_without_a_filter_is_refused() -> None:
    data = study_graph("karate")
    model = find_model("mlp").build(prepare(data, Config(), "mlp"), Config())
    with pytest.raises(RunError, match=r"must have a filter \(got MLP\)"):
        response_of(model, GRID)


def row(spearman: float, low: float, high: float, strict: bool = False) -> dict[str, object]:
    return {"spearman": spearman, "interval": [low, high], "strictly_monotonic": strict}


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (row(0.1, -0.2, 0.4), CONFIRMED),
        (row(0.8, 0.5, 0.9), WEAKER),
        (row(-0.8, -0.9, -0.5), WEAKER),
        (row(1.0, 0.9, 1.0, strict=True), NOT_CONFIRMED),
    ],
)
def test_the_word_for_monotonicity(found: dict[str, object], word: str) -> None:
    assert judge_monotonicity(found)[0] == word


def test_correlation_of_a_valley_and_of_constants() -> None:
    valley = list(zip((0.1, 0.3, 0.5, 0.7, 0.9), (2, 1, 0, 1, 2), strict=True))
    found = correlation(valley)
    assert found["spearman"] == pytest.approx(0)
    assert not found["strictly_monotonic"]
    assert correlation([(0.1, 1.0), (0.9, 1.0)])["spearman"] == 0
    assert not math.isnan(correlation([(0.1, 1.0), (0.9, 1.0)])["interval"][0])
