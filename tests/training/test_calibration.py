import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from torch.nn.functional import cross_entropy

from herofilter.training.calibration import fit_temperature
from herofilter.training.metrics import full_score


def drawn(temperature: float, nodes: int = 4000, classes: int = 4) -> tuple[torch.Tensor, ...]:
    """Return logits, and labels drawn from their softmax at a temperature."""
    generator = torch.Generator().manual_seed(1)
    logits = 3 * torch.randn(nodes, classes, generator=generator)
    y = torch.multinomial(torch.softmax(logits / temperature, 1), 1, generator=generator)
    return logits, y.view(-1)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5, 5.0])
def test_the_temperature_of_drawn_labels_is_found(temperature: float) -> None:
    logits, y = drawn(temperature)
    assert fit_temperature(logits, y) == pytest.approx(temperature, rel=0.1)


@pytest.mark.parametrize("temperature", [0.4, 3.0])
def test_it_is_the_minimum_that_scipy_finds(temperature: float) -> None:
    logits, y = drawn(temperature, nodes=200)

    def loss(log_t: float) -> float:
        # one more node is imagined, of any class
        scaled = logits.double() / math.exp(log_t)
        return float(cross_entropy(scaled, y, label_smoothing=1 / 201))

    oracle = minimize_scalar(
        loss, bounds=(np.log(0.05), np.log(20)), method="bounded", options={"xatol": 1e-9}
    )
    assert fit_temperature(logits, y) == pytest.approx(math.exp(oracle.x), rel=1e-4)


def test_calibration_lowers_error_and_loss() -> None:
    logits, y = drawn(3.0)
    before = full_score(logits, y)
    after = full_score(logits / fit_temperature(logits, y), y)
    assert after["log_loss"] < before["log_loss"]
    assert after["calibration_error"] < 0.2 * before["calibration_error"]
    assert after["accuracy"] == before["accuracy"]


def test_it_stays_within_bounds() -> None:
    logits = torch.tensor([[0.01, 0.0], [0.0, 0.01]]).repeat(50, 1)
    right = torch.tensor([0, 1]).repeat(50)
    assert fit_temperature(logits, right) == pytest.approx(0.05)
    assert fit_temperature(logits, 1 - right) == pytest.approx(20.0)


def test_a_few_nodes_that_are_all_right_prove_nothing() -> None:
    logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    y = torch.tensor([0, 1, 2])
    found = torch.softmax(logits.double() / fit_temperature(logits, y), 1)
    # three of four nodes are right, and a third of the fourth
    assert found.max() == pytest.approx(0.75 + 0.25 / 3)
    many = torch.softmax(logits / fit_temperature(logits.repeat(99, 1), y.repeat(99)), 1)
    assert many.max() > 0.99


def test_nothing_to_learn_from_gives_one() -> None:
    assert fit_temperature(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long)) == 1.0
    # equal logits stay equal at any temperature
    assert fit_temperature(torch.ones(5, 3), torch.tensor([0, 1, 2, 0, 1])) == 1.0


def test_single_precision_and_large_logits_are_safe() -> None:
    logits = torch.tensor([[500.0, -500.0], [500.0, -500.0], [-400.0, 400.0]])
    found = fit_temperature(logits, torch.tensor([0, 1, 1]))
    assert found == pytest.approx(20.0)
