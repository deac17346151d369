"""Dir-GNN against PyG's layers and the dense formula, and its directions."""

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import remove_self_loops

from herofilter.baselines.dir_gnn import ALPHAS, DirGNN, directions
from herofilter.data import is_directed
from herofilter.errors import ConfigError
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build

UNWEIGHTED = [name for name in GRAPHS if name != "weighted"]


def layers_of_pyg(model: DirGNN, data: Data) -> Tensor:
    edges, _ = remove_self_loops(data.edge_index)
    found = [data.x]
    for conv in model.convs:
        found.append(conv(found[-1], edges).relu())
    mode = model.jump.mode
    jumped = torch.cat(found[1:], 1) if mode == "cat" else torch.stack(found[1:]).amax(0)
    out: Tensor = model.classifier(jumped)
    return out


@pytest.mark.parametrize("mode", ["cat", "max"])
@pytest.mark.parametrize("name", UNWEIGHTED)
def test_sage_equals_the_layers_of_pyg(name: str, mode: str) -> None:
    data = AWKWARD[name]()
    model = DirGNN(4, 8, 3, mode=mode, convolution="sage", alpha=0.3).eval()
    assert_same(model(data), layers_of_pyg(model, data), model)


@pytest.mark.parametrize("name", ["plain", "isolated_nodes", "self_loops", "no_edges"])
def test_gcn_without_directions_equals_the_layers_of_pyg(name: str) -> None:
    # with directions PyG divides by incoming edges alone, and the paper by both kinds
    data = AWKWARD[name]()
    model = DirGNN(4, 8, 3, convolution="gcn", alpha=0.3).eval()
    assert_same(model(data), layers_of_pyg(model, data), model)


def received(data: Data) -> Tensor:
    """Return the weights of what each node receives, from the edges one by one."""
    n = int(data.num_nodes or 0)
    matrix, weight = torch.zeros(n, n), data.get("edge_weight")
    for number, (source, target) in enumerate(data.edge_index.t().tolist()):
        if source != target:
            matrix[target, source] += 1.0 if weight is None else float(weight[number])
    return matrix


@pytest.mark.parametrize("name", GRAPHS)
def test_directions_against_a_loop(name: str) -> None:
    data = AWKWARD[name]()
    matrix, eye = received(data), torch.eye(int(data.num_nodes or 0))
    inwards, outwards = (propagate(eye) for propagate in directions(data, "sage"))
    torch.testing.assert_close(inwards, matrix / matrix.sum(1, keepdim=True).clamp(min=1e-9))
    torch.testing.assert_close(outwards, matrix.t() / matrix.t().sum(1, keepdim=True).clamp(1e-9))
    inwards, outwards = (propagate(eye) for propagate in directions(data, "gcn"))
    both = (matrix.sum(1, keepdim=True) * matrix.sum(0)).sqrt().clamp(min=1e-9)
    torch.testing.assert_close(inwards, matrix / both)
    torch.testing.assert_close(outwards, (matrix / both).t())


@pytest.mark.parametrize("convolution", ["gcn", "sage"])
def test_a_node_reads_the_edges_that_it_was_told_to(convolution: str) -> None:
    data = AWKWARD["directed"]()
    data.edge_index = torch.tensor([[0], [1]])
    for direction, reader, read in (("in", 1, 0), ("out", 0, 1)):
        alpha = ALPHAS[direction]
        model = DirGNN(4, 8, 3, num_layers=1, convolution=convolution, alpha=alpha).eval()
        before = model(data)
        moved = data.clone()
        moved.x[read] += 1.0
        changed = (model(moved) != before).any(1)
        assert changed[reader], direction
        # GCN has no term of the node itself
        assert changed.nonzero().view(-1).tolist() == sorted(
            {reader} | ({read} if convolution == "sage" else set())
        )


@pytest.mark.parametrize("convolution", ["gcn", "sage"])
def test_reversed_edges_exchange_the_two_parts(convolution: str) -> None:
    data, reverse = AWKWARD["directed"](), AWKWARD["directed"]()
    reverse.edge_index = reverse.edge_index.flip(0)
    model = DirGNN(4, 8, 3, convolution=convolution, alpha=0.3).eval()
    other = DirGNN(4, 8, 3, convolution=convolution, alpha=0.7).eval()
    other.load_state_dict(model.state_dict())
    for conv in other.convs:
        conv.conv_in, conv.conv_out = conv.conv_out, conv.conv_in
    torch.testing.assert_close(other(reverse), model(data))
    assert not torch.allclose(model(reverse), model(data))


def test_settings_reach_the_model() -> None:
    own, data = build("dir-gnn", AWKWARD["directed"]())
    assert is_directed(data)
    assert (len(own.convs), own.convolution, own.alpha, own.jump.mode) == (3, "sage", 0.5, "cat")
    given, _ = build(
        "dir-gnn", AWKWARD["directed"](), depth=5, conv="gcn", direction="in", num_layers=4
    )
    assert (len(given.convs), given.convolution, given.alpha) == (5, "gcn", 0.0)
    _, without = build("dir-gnn", AWKWARD["directed"](), directed="symmetrise")
    assert not is_directed(without)


def test_wrong_arguments() -> None:
    with pytest.raises(ConfigError) as caught:
        DirGNN(4, 8, 3, alpha=1.5)
    assert str(caught.value) == "alpha must be between 0 and 1 (got 1.5)"
    with pytest.raises(ConfigError) as caught:
        DirGNN(4, 8, 3, convolution="gat")
    assert str(caught.value) == "convolution must be one of gcn, sage (got 'gat')"
