import random

import numpy as np
import pytest
import torch

from herofilter.training import seeded


def test_the_block_is_repeatable_and_seeds_differ() -> None:
    draws = []
    for seed in (3, 3, 4):
        torch.rand(5)
        with seeded(seed) as generator:
            draws.append(torch.cat([torch.rand(4), torch.rand(4, generator=generator)]))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_random_states_are_put_back() -> None:
    torch.manual_seed(11)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    with seeded(0):
        torch.rand(10)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert random.getstate() == before[2]


def fail_inside() -> None:
    with seeded(1):
        assert torch.are_deterministic_algorithms_enabled()
        torch.rand(1)
        raise ZeroDivisionError


@pytest.mark.parametrize(("on", "warn_only"), [(False, False), (True, False), (True, True)])
def test_flags_are_put_back_even_after_an_error(on: bool, warn_only: bool) -> None:
    fill = torch.utils.deterministic.fill_uninitialized_memory
    try:
        torch.use_deterministic_algorithms(on, warn_only=warn_only)
        torch.manual_seed(5)
        state = torch.get_rng_state()
        with pytest.raises(ZeroDivisionError):
            fail_inside()
        assert torch.are_deterministic_algorithms_enabled() is on
        assert torch.is_deterministic_algorithms_warn_only_enabled() is warn_only
        assert torch.utils.deterministic.fill_uninitialized_memory is fill
        assert torch.equal(torch.get_rng_state(), state)
    finally:
        torch.use_deterministic_algorithms(False)
