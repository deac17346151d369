"""The contract that every registered model keeps, on every awkward graph."""

import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config, paper_config
from herofilter.data import csbm, select_split
from herofilter.errors import ConfigError, GraphError, OutOfMemoryError
from herofilter.nn import HeroFilter, find_model, list_models, register_model
from herofilter.patchers import FastPatcher, SpectralPatcher
from herofilter.training import prepare, seeded, train
from tests.awkward import AWKWARD

MODELS = [entry.name for entry in list_models()]
# boosted trees have no weights to start from at random
WITH_GRADIENTS = [entry.name for entry in list_models() if entry.gradients]
SMALL = Config().replace(patch_size=4, hidden_channels=8, epochs=3)


def build(name: str, data: Data, config: Config = SMALL) -> tuple[torch.nn.Module, Data]:
    data = prepare(data, config, name)
    with seeded(0):
        return find_model(name).build(data, config), data


def test_the_models_of_the_demo_are_registered() -> None:
    assert {"mlp", "gcn", "herofilter", "fast-herofilter"} <= set(MODELS)


@pytest.mark.parametrize("graph", AWKWARD)
@pytest.mark.parametrize("name", MODELS)
def test_contract_on_awkward_graphs(name: str, graph: str) -> None:
    model, data = build(name, AWKWARD[graph]())
    model.eval()
    logits = model(data)
    assert logits.shape == (data.num_nodes, int(data.y.max()) + 1)
    assert torch.isfinite(logits).all()
    nodes = torch.tensor([3, 0, 3])
    torch.testing.assert_close(model(data, nodes), logits[nodes])
    if name not in WITH_GRADIENTS:
        return
    model.train()
    model(data).logsumexp(1).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_reset_initialises_again_and_state_restores(name: str) -> None:
    model, data = build(name, AWKWARD["plain"]())
    model.eval()
    before = model(data)
    state = {key: value.clone() for key, value in model.state_dict().items()}
    with seeded(1):
        model.reset_parameters()
    assert not torch.allclose(model(data), before)
    model.load_state_dict(state)
    assert torch.equal(model(data), before)


@pytest.mark.parametrize("name", MODELS)
def test_same_seed_same_bits(name: str) -> None:
    data = select_split(csbm(num_nodes=120, num_classes=3, seed=1), 0)
    config = SMALL.replace(epochs=12, refresh_every=5, batch_size=20)
    outcomes = []
    for _ in range(2):
        torch.rand(7)  # the caller's random state must not matter
        model, prepared = build(name, data, config)
        result = train(model, prepared, config.train)
        outcomes.append((result.history, model.state_dict()))
    assert outcomes[0][0] == outcomes[1][0]
    assert all(torch.equal(outcomes[0][1][key], outcomes[1][1][key]) for key in outcomes[0][1])


# a random expander and learned node vectors depend on the order of the nodes
BY_POSITION = {"exphormer", "linkx"}


@pytest.mark.parametrize("name", [name for name in MODELS if name not in BY_POSITION])
def test_permutation_equivariance(name: str) -> None:
    data = csbm(num_nodes=60, num_classes=3, average_degree=6, seed=2)
    generator = torch.Generator().manual_seed(0)
    # weights without ties, so that the order of patches follows from the graph alone
    half = data.edge_index[0] < data.edge_index[1]
    edges = data.edge_index[:, half]
    weight = torch.rand(edges.size(1), generator=generator) + 0.5
    graph = Data(
        x=data.x,
        y=data.y,
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        edge_weight=weight.repeat(2),
        num_nodes=60,
    )
    order = torch.randperm(60, generator=generator)
    new_index = torch.empty_like(order)
    new_index[order] = torch.arange(60)
    moved = Data(
        x=graph.x[order],
        y=graph.y[order],
        edge_index=new_index[graph.edge_index],
        edge_weight=graph.edge_weight,
        num_nodes=60,
    )
    # a truncated tail of near-zero scores would be ordered by rounding: keep the patch small
    config = SMALL.replace(filter_starts=("low",))
    model, graph = build(name, graph, config)
    other, moved = build(name, moved, config)
    model.eval(), other.eval()
    torch.testing.assert_close(other(moved), model(graph)[order], rtol=1e-4, atol=1e-5)


def test_paper_setting_is_literal_in_the_forward_pass() -> None:
    data = AWKWARD["plain"]()
    config = paper_config().replace(patch_size=4, num_layers=1)
    model, data = build("herofilter", data, config)
    model.eval()
    assert model.stem is None
    patches = model.patches()
    tokens = data.x[patches.index].transpose(0, 1)
    for block in model.blocks:
        tokens = block(tokens)
    torch.testing.assert_close(model(data), model.head(tokens.sum(0)))
    model(data).square().sum().backward()
    assert any(float(p.grad.abs().sum()) > 0 for p in model.filter_parameters())


def test_chunks_do_not_change_the_result() -> None:
    model, data = build("herofilter", AWKWARD["plain"]())
    model.eval()
    expected = model(data)
    model.chunk_size = 3
    torch.testing.assert_close(model(data), expected)


def test_padding_has_no_influence() -> None:
    data = AWKWARD["no_edges"]()
    patches = FastPatcher(patch_size=4)(data)
    assert int(patches.mask.sum()) == 10
    model = HeroFilter(4, 3, patcher=patches).eval()
    before = model(data)[0]
    data.x[1:] += 1.0
    torch.testing.assert_close(model(data)[0], before)


def test_another_graph_is_refused() -> None:
    data = AWKWARD["plain"]()
    model = HeroFilter(4, 3, patcher=SpectralPatcher(data, patch_size=4))
    with pytest.raises(GraphError, match="with 10 nodes \\(got 5\\); make new patches for it"):
        model(AWKWARD["tiny"]())


def test_patches_of_some_nodes_are_refused() -> None:
    patches = FastPatcher(patch_size=4)(AWKWARD["plain"](), nodes=torch.tensor([2, 5]))
    with pytest.raises(GraphError, match="for each of the 10 nodes \\(got 2 rows\\)"):
        HeroFilter(4, 3, patcher=patches)


def test_registry_refuses_unknown_and_repeated_names() -> None:
    with pytest.raises(ConfigError, match="did you mean 'gcn'"):
        find_model("gnc")
    with pytest.raises(ConfigError, match="a model name must be new"):
        register_model("gcn", paper="", needs="", scales=True)(lambda data, config: None)


def test_gcn_equals_the_dense_formula() -> None:
    from herofilter.spectral import normalised_adjacency

    model, data = build("gcn", AWKWARD["plain"]())
    model.eval()
    matrix = torch.from_numpy(normalised_adjacency(data.edge_index, 10).toarray()).float()
    first, second = model.convs
    hidden = (matrix @ first.lin(data.x) + first.bias).relu()
    torch.testing.assert_close(model(data), matrix @ second.lin(hidden) + second.bias)


@pytest.mark.parametrize("name", ["plain", "directed", "self_loops", "duplicates", "weighted"])
def test_gcn_equals_the_layers_of_pyg(name: str) -> None:
    model, data = build("gcn", AWKWARD[name]())
    model.eval()
    weight = data.get("edge_weight")
    first, second = model.convs
    hidden = first(data.x, data.edge_index, weight).relu()
    expected = second(hidden, data.edge_index, weight)
    found = model(data)
    torch.testing.assert_close(found, expected)
    gradients = [
        torch.autograd.grad(out.square().sum(), list(model.parameters()), retain_graph=True)
        for out in (found, expected)
    ]
    torch.testing.assert_close(*gradients)


def test_gcn_notices_edges_that_have_changed() -> None:
    model, data = build("gcn", AWKWARD["plain"]())
    model.eval()
    before = model(data)
    data.edge_index[1, 0] = 9
    assert not torch.equal(model(data), before)
    other = data.clone()
    torch.testing.assert_close(model(data), model(other))


def test_raw_features_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = build("herofilter", AWKWARD["plain"](), paper_config().replace(patch_size=4))
    monkeypatch.setattr("herofilter.memory.free_memory", lambda: 1000)
    with pytest.raises(
        OutOfMemoryError, match="set batch_size, a smaller patch_size, or stem=true"
    ):
        model(data)
