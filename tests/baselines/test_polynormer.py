"""Polynormer against PyG's own in both stages, and how it goes from one to the other."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn.attention import PolynormerAttention
from torch_geometric.nn.models import Polynormer as Reference

from herofilter.baselines.polynormer import Polynormer
from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.errors import ConfigError
from herofilter.nn import find_model
from herofilter.training import prepare, seeded, train
from tests.awkward import AWKWARD
from tests.baselines.oracles import joined_state, output_of

GRAPHS = ["plain", "directed", "isolated_nodes", "self_loops", "duplicates", "no_edges"]


def pair(heads: int = 1) -> tuple[Polynormer, Reference]:
    """Return ours and PyG's, without dropout, with the same weights."""
    with seeded(0):
        model = Polynormer(4, 8, 3, 3, 0.0, 0.0, 0, heads, 2, 0.7, 1)
    reference = Reference(4, 8 // heads, 3, 3, 2, 0.0, 0.0, 0.0, heads, 0.7)
    for number in range(2):
        # with several heads PyG's own attention expects another width than it gets
        reference.global_attn[number] = PolynormerAttention(8, heads, 8 // heads, 0.7, False, False)
    state = joined_state(
        {
            "local_convs": model.convs,
            "post_bns": model.batch_norms,
            "lns": model.layer_norms,
            "ln": model.global_norm,
            "global_attn": model.attentions,
            "pred_local": model.local_head,
            "pred_global": model.global_head,
        }
    )
    for name, layers in (("h_lins", model.gates), ("lins", model.lins)):
        for number, layer in enumerate(layers):
            state[f"{name}.{number}.weight"] = layer.weight.t()
            state[f"{name}.{number}.bias"] = layer.bias
    # ours holds inputs by outputs
    state["local_convs.0.lin.weight"] = state["local_convs.0.lin.weight"].t()
    left = reference.load_state_dict(state, strict=False)
    assert (left.missing_keys, left.unexpected_keys) == (["lin_in.weight", "lin_in.bias"], [])
    return model, reference


def logits_of(reference: Reference, data: Data) -> torch.Tensor:
    """Return PyG's logits, all nodes in one batch, before its log-softmax."""
    head = reference.pred_global if reference._global else reference.pred_local
    batch = torch.zeros(data.num_nodes, dtype=torch.long)
    return output_of(head, lambda: reference(data.x, data.edge_index, batch))


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("stage", ["local", "global"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("graph", GRAPHS)
def test_equals_that_of_pyg(graph: str, training: bool, stage: str, heads: int) -> None:
    data = AWKWARD[graph]()
    model, reference = pair(heads)
    model.train(training)
    reference.train(training)
    reference._global = stage == "global"
    model.steps.fill_(9 if stage == "global" else 0)
    found, expected = model(data), logits_of(reference, data)
    torch.testing.assert_close(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    for ours, theirs in (
        (model.gates[0].weight.grad.t(), reference.h_lins[0].weight.grad),
        (model.lins[0].weight.grad.t(), reference.lins[0].weight.grad),
        (model.convs[0].lin.weight.grad.t(), reference.local_convs[0].lin.weight.grad),
        (model.attentions[0].k.weight.grad, reference.global_attn[0].k.weight.grad),
    ):
        if ours is None or theirs is None:
            assert ours is theirs
            continue
        # a normalised column that is nearly constant enlarges rounding
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-3 * float(theirs.abs().max()))


def test_sparse_features_change_nothing() -> None:
    data = AWKWARD["plain"]()
    model = pair()[0].eval()
    expected = model(data)
    data.x = data.x.to_sparse_csr()
    torch.testing.assert_close(model(data), expected)


@pytest.mark.parametrize("graph", AWKWARD)
def test_the_global_stage_on_awkward_graphs(graph: str) -> None:
    config = Config().replace(hidden_channels=8)
    data = prepare(AWKWARD[graph](), config, "polynormer")
    with seeded(0):
        model = find_model("polynormer").build(data, config)
    model.steps.fill_(1000)
    logits = model(data)
    assert torch.isfinite(logits).all()
    logits.logsumexp(1).sum().backward()
    assert model.local_head.weight.grad is None
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(torch.isfinite(grad).all() for grad in grads)
    model.eval()
    nodes = torch.tensor([3, 0, 3])
    torch.testing.assert_close(model(data, nodes), model(data)[nodes])


def test_training_steps_lead_to_the_global_stage() -> None:
    data = AWKWARD["plain"]()
    model = pair()[0]
    stages = []
    for _ in range(3):
        model.train()
        model(data)
        # reading doesn't count
        model.eval()
        model(data)
        stages.append(model.is_global)
    assert stages == [False, True, True]
    model.refresh()
    model.reset_parameters()
    assert not model.is_global


def test_the_best_state_brings_its_stage_back() -> None:
    data = select_split(csbm(num_nodes=120, num_classes=3, seed=1), 0)
    config = Config().replace(hidden_channels=8, epochs=12)
    data = prepare(data, config, "polynormer")
    with seeded(0):
        model = find_model("polynormer").build(data, config)
    model.local_steps = 6
    result = train(model, data, config.train)
    assert len(result.history) == 12
    assert int(model.steps) == result.best_epoch + 1
    assert model.is_global == (result.best_epoch >= 6)
    other = find_model("polynormer").build(data, config)
    other.local_steps = 6
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.eval()(data), model.eval()(data))


def test_options_reach_the_model() -> None:
    config = Config().replace(heads=4, hidden_channels=16, num_layers=3)
    data = prepare(AWKWARD["plain"](), config, "polynormer")
    model = find_model("polynormer").build(data, config)
    assert isinstance(model, Polynormer)
    assert ({layer.heads for layer in model.attentions}, len(model.convs)) == ({4}, 3)
    assert set(find_model("polynormer").options) == {"heads"}
    default = find_model("polynormer").build(data, Config())
    assert ({layer.heads for layer in default.attentions}, len(default.convs)) == ({1}, 2)


def test_heads_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"multiple of heads \(got 8 channels and 3 heads\)"):
        Polynormer(4, 8, 3, heads=3)
