"""The transform gives what the patcher gives, and composes with those of PyG."""

import inspect

import pytest
import torch
import torch_geometric.transforms as T

from herofilter.data import csbm
from herofilter.errors import ConfigError
from herofilter.nn import HeroFilter
from herofilter.patchers import AddPatches, FastPatcher, Patches
from tests.awkward import AWKWARD


@pytest.mark.parametrize("name", AWKWARD)
def test_patches_are_those_of_the_patcher(name: str) -> None:
    data = AWKWARD[name]()
    found = AddPatches(patch_size=3, ego="ranked", relations=("out", "in"))(data)
    expected = FastPatcher(patch_size=3, ego="ranked", relations=("out", "in"))(data)
    assert torch.equal(found.patch_index, expected.index)
    assert torch.equal(found.patch_score, expected.score)
    assert "patch_index" not in data


def test_arguments_and_defaults_are_those_of_the_patcher() -> None:
    ours, theirs = (
        {p.name: (p.default, p.annotation) for p in inspect.signature(kind).parameters.values()}
        for kind in (AddPatches, FastPatcher)
    )
    assert ours == theirs
    odd = {
        "patch_size": 3,
        "c": 0.2,
        "method": "push",
        "tolerance": 1e-3,
        "self_loops": False,
        "directed": "keep",
        "ego": "ranked",
        "relations": ("in",),
        "refine": 7,
        "margin": 0.5,
        "hub_limit": 9,
        "filters": ((0.0, 1.0),),
    }
    assert odd.keys() == theirs.keys()
    assert AddPatches(**odd).patcher == FastPatcher(**odd)


def test_it_works_among_other_transforms() -> None:
    data = csbm(num_nodes=50, num_classes=3, directed=True)
    chain = T.Compose([T.ToUndirected(), T.NormalizeFeatures(), AddPatches(patch_size=4)])
    ready = chain(data)
    assert ready.patch_index.shape == (50, 4)
    assert torch.equal(ready.patch_index, FastPatcher(patch_size=4)(data).index)
    model = HeroFilter(32, 3, patcher=Patches(ready.patch_index, ready.patch_score))
    assert model(ready).shape == (50, 3)
    assert repr(chain.transforms[-1]).startswith("AddPatches(FastPatcher(patch_size=4, ")


def test_a_wrong_argument_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"c must be at least 0 and below 1 \(got 1\)"):
        AddPatches(c=1)
