"""Sparse features give what the same features give in dense form."""

import pytest
import torch

from herofilter.nn import list_models
from herofilter.training import prepare_features
from herofilter.training.search.space import PATCHED
from tests.awkward import AWKWARD
from tests.baselines.oracles import build

MODELS = [entry.name for entry in list_models() if entry.name not in PATCHED and entry.gradients]


@pytest.mark.parametrize("name", MODELS)
def test_sparse_equals_dense(name: str) -> None:
    data = AWKWARD["isolated_nodes"]()
    data.x = data.x * (data.x > 1.2)
    model, sparse = build(name, data)
    assert sparse.x.layout == torch.sparse_csr
    dense = prepare_features(sparse)
    dense.x = sparse.x.to_dense()
    weights = list(model.parameters())
    found, expected = model(sparse), model(dense)
    torch.testing.assert_close(found, expected)
    back = [
        torch.autograd.grad(out.square().sum(), weights, allow_unused=True)
        for out in (found, expected)
    ]
    torch.testing.assert_close(*back)
