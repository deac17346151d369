"""SGFormer against PyG's own, and the formula of its attention."""

import pytest
import torch
from torch.nn.functional import normalize
from torch_geometric.data import Data
from torch_geometric.nn.models import SGFormer as Reference

from herofilter.baselines.sgformer import SGFormer
from herofilter.config import Config
from herofilter.errors import ConfigError
from herofilter.nn import find_model
from herofilter.training import prepare, seeded
from tests.awkward import AWKWARD
from tests.baselines.oracles import joined_state, output_of

GRAPHS = ["plain", "directed", "isolated_nodes", "self_loops", "duplicates", "no_edges"]


def pair(heads: int = 2, attention_layers: int = 2) -> tuple[SGFormer, Reference]:
    """Return ours and PyG's, without dropout, with the same weights."""
    with seeded(0):
        model = SGFormer(4, 8, 3, 2, 0.0, 0.0, 0, heads, 0.3, attention_layers)
    reference = Reference(4, 8, 3, attention_layers, heads, 0.0, 2, 0.0, graph_weight=0.3)
    state = joined_state(
        {
            "trans_conv.attns": model.attentions,
            "trans_conv.bns": model.attention_norms,
            "graph_conv.convs": model.convs,
            "graph_conv.bns": model.graph_norms,
            "fc": model.head,
        }
    )
    for name, layer in (("trans_conv", model.attention_in), ("graph_conv", model.graph_in)):
        state[f"{name}.fcs.0.weight"] = layer.weight.t()
        state[f"{name}.fcs.0.bias"] = layer.bias
    reference.load_state_dict(state)
    return model, reference


def logits_of(reference: Reference, data: Data) -> torch.Tensor:
    """Return PyG's logits, all nodes in one batch, before its log-softmax."""
    batch = torch.zeros(data.num_nodes, dtype=torch.long)
    return output_of(reference.fc, lambda: reference(data.x, data.edge_index, batch))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("graph", GRAPHS)
def test_equals_that_of_pyg(graph: str, training: bool) -> None:
    data = AWKWARD[graph]()
    model, reference = pair()
    model.train(training)
    reference.train(training)
    found, expected = model(data), logits_of(reference, data)
    torch.testing.assert_close(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    for ours, theirs in (
        (model.attention_in.weight.grad.t(), reference.trans_conv.fcs[0].weight.grad),
        (model.graph_in.weight.grad.t(), reference.graph_conv.fcs[0].weight.grad),
        (model.attentions[0].q.weight.grad, reference.trans_conv.attns[0].q.weight.grad),
        (model.convs[0].lin.weight.grad, reference.graph_conv.convs[0].lin.weight.grad),
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_sparse_features_change_nothing() -> None:
    data = AWKWARD["plain"]()
    model = pair()[0].eval()
    expected = model(data)
    data.x = data.x.to_sparse_csr()
    torch.testing.assert_close(model(data), expected)


def test_attention_is_the_formula_over_all_pairs() -> None:
    model = pair(heads=1)[0]
    layer = model.attentions[0]
    x = torch.randn(7, 8, generator=torch.Generator().manual_seed(0))
    query, key, value = normalize(layer.q(x)), normalize(layer.k(x)), layer.v(x)
    pairs = torch.eye(7) + query @ key.t() / 7
    expected = pairs @ value / pairs.sum(1, keepdim=True)
    torch.testing.assert_close(layer(x.unsqueeze(0)).squeeze(0), expected)


def test_alpha_weighs_the_two_branches() -> None:
    data = AWKWARD["plain"]()
    model = pair()[0].eval()
    other = data.clone()
    other.edge_index = other.edge_index[:, :4]
    model.alpha = 0.0
    assert torch.equal(model(data), model(other))
    model.alpha = 1.0
    assert not torch.allclose(model(data), model(other))
    before = model(data)
    model.attention_in.weight.data += 1
    assert torch.equal(model(data), before)


def test_options_reach_the_model() -> None:
    config = Config().replace(heads=4, alpha=0.8, hidden_channels=16, num_layers=3)
    data = prepare(AWKWARD["plain"](), config, "sgformer")
    model = find_model("sgformer").build(data, config)
    assert isinstance(model, SGFormer)
    assert (model.attentions[0].heads, model.alpha, len(model.convs)) == (4, 0.8, 3)
    assert set(find_model("sgformer").options) == {"heads", "alpha"}
    default = find_model("sgformer").build(data, Config())
    assert (default.attentions[0].heads, default.alpha, len(default.convs)) == (1, 0.5, 2)


def test_heads_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"multiple of heads \(got 8 channels and 3 heads\)"):
        SGFormer(4, 8, 3, heads=3)
