import pytest
import torch
from hypothesis import given, settings, strategies as st

from herofilter.data import csbm, num_splits, random_splits, select_split
from herofilter.errors import ConfigError, GraphError
from tests import awkward


def test_select_split_takes_one_column_and_leaves_the_original() -> None:
    data = csbm(num_nodes=60, num_splits=4)
    chosen = select_split(data, 3)
    assert torch.equal(chosen.val_mask, data.val_mask[:, 3])
    assert data.val_mask.shape == (60, 4)
    assert (num_splits(data), num_splits(chosen)) == (4, 1)
    assert torch.equal(select_split(chosen, 0).val_mask, chosen.val_mask)


@pytest.mark.parametrize("split", [-1, 4])
def test_split_out_of_range(split: int) -> None:
    with pytest.raises(ConfigError) as caught:
        select_split(csbm(num_nodes=60, num_splits=4), split)
    assert str(caught.value) == (
        f"split must be between 0 and 3 (got {split}); the graph has 4 splits"
    )


def test_graph_without_masks() -> None:
    data = awkward.plain()
    del data.train_mask
    assert num_splits(data) == 0
    with pytest.raises(GraphError, match=r"must all be set \(got no train_mask\)"):
        select_split(data, 0)


@settings(deadline=None, max_examples=60)
@given(
    labels=st.lists(st.integers(-1, 4), min_size=1, max_size=60),
    seed=st.integers(0, 5),
    stratified=st.booleans(),
    fractions=st.sampled_from([(0.48, 0.32, 0.20), (0.5, 0.25, 0.25), (0.1, 0.1, 0.1)]),
)
def test_parts_are_disjoint_and_labelled(
    labels: list[int], seed: int, stratified: bool, fractions: tuple[float, float, float]
) -> None:
    y = torch.tensor(labels)
    masks = random_splits(y, 2, fractions, seed, stratified)
    total = sum(mask.long() for mask in masks)
    assert total.max() <= 1
    assert not total[y < 0].any()
    if sum(fractions) > 0.99:
        assert total[y >= 0].all()
    for label in set(labels) - {-1} if stratified else ():
        if labels.count(label) >= 3:
            assert all(mask[y == label].any(dim=0).all() for mask in masks)


def test_shares_and_determinism() -> None:
    y = torch.arange(1000) % 4
    first, again, other = (random_splits(y, 3, seed=seed) for seed in (1, 1, 2))
    assert [int(mask[:, 0].sum()) for mask in first] == [480, 320, 200]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])
    assert not torch.equal(first[0][:, 0], first[0][:, 1])
    assert [int(mask[y == 2, 1].sum()) for mask in first] == [120, 80, 50]


def test_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    random_splits(torch.arange(9) % 3, 2)
    assert torch.equal(torch.get_rng_state(), before)


def test_impossible_settings() -> None:
    y = torch.arange(9) % 3
    with pytest.raises(ConfigError) as caught:
        random_splits(y, 1, (0.8, 0.3, 0.1))
    assert str(caught.value) == (
        "fractions must be three positive numbers that add up to at most 1 (got (0.8, 0.3, 0.1))"
    )
    with pytest.raises(ConfigError, match=r"^num_splits must be at least 1 \(got 0\)$"):
        random_splits(y, 0)
