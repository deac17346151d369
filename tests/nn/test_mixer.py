import pytest
import torch

from herofilter.nn.aggregation import Aggregation
from herofilter.nn.mixer import MixerBlock, PatchNorm
from herofilter.nn.stem import FeatureLinear, Stem
from herofilter.patchers import Slot


def tokens(p: int = 5, b: int = 7, h: int = 4) -> torch.Tensor:
    return torch.randn(p, b, h, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("norm", ["feature", "patch", "none"])
def test_a_new_residual_block_is_the_identity(norm: str) -> None:
    block = MixerBlock(5, 4, norm=norm).eval()
    assert torch.equal(block(tokens()), tokens())


@pytest.mark.parametrize("norm", ["feature", "patch", "none"])
def test_block_equals_the_papers_formula_without_residuals(norm: str) -> None:
    block = MixerBlock(5, 4, norm=norm, residual=False, dropout=0.0).eval()
    first_norm, patch, second_norm, feature = block.layers
    x = tokens()
    # written node by node, with the transposes of the paper
    expected = []
    for node in range(x.size(1)):
        tokens_of_node = x[:, node]
        normed = first_norm(x)[:, node]
        mixed = patch.second(patch.first(normed.t()).relu()).t().relu()
        assert mixed.shape == tokens_of_node.shape
        batched = mixed.unsqueeze(1)
        expected.append(feature.second(feature.first(second_norm(batched)).relu()).relu()[:, 0])
    torch.testing.assert_close(block(x), torch.stack(expected, dim=1))


def test_patch_norm_is_layer_norm_of_the_transpose() -> None:
    x = tokens()
    norm = PatchNorm(5)
    with torch.no_grad():
        norm.weight.copy_(torch.randn(5, 1, 1))
        norm.bias.copy_(torch.randn(5, 1, 1))
    oracle = torch.nn.functional.layer_norm(
        x.permute(1, 2, 0), (5,), norm.weight.view(-1), norm.bias.view(-1)
    ).permute(2, 0, 1)
    torch.testing.assert_close(norm(x), oracle)


@pytest.mark.parametrize(
    ("patch", "feature", "layers"), [(True, False, 2), (False, True, 2), (False, False, 0)]
)
def test_each_axis_can_be_switched_off(patch: bool, feature: bool, layers: int) -> None:
    block = MixerBlock(5, 4, residual=False, patch_mixing=patch, feature_mixing=feature).eval()
    assert len(block.layers) == layers
    x = tokens()
    # a ReLU may silence one position, not all of them
    reached = set()
    for position in range(5):
        moved = x.clone()
        moved[position] += torch.randn(7, 4)
        changed = (block(moved) != block(x)).any(dim=2).any(dim=1).nonzero().view(-1).tolist()
        reached |= {other for other in changed if other != position}
    assert bool(reached) == patch


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("mean", lambda x: x.mean(0)),
        ("sum", lambda x: x.sum(0)),
        ("flatten", lambda x: torch.cat([x[q] for q in range(5)], dim=1)),
        ("ego_concat", lambda x: torch.cat([x[0], x[1:].sum(0)], dim=1)),
        ("weighted", lambda x: x[0]),
        ("slot_concat", lambda x: torch.cat([x[0], x[1:3].sum(0), x[3:].sum(0)], dim=1)),
    ],
)
def test_aggregations(kind: str, expected: object) -> None:
    layer = Aggregation(kind, [Slot("ego", 0, 1), Slot("a", 1, 3), Slot("b", 3, 5)], 4)
    out = layer(tokens())
    assert out.shape == (7, layer.out_channels)
    torch.testing.assert_close(out, expected(tokens()))


def test_sparse_and_dense_features_agree() -> None:
    x = torch.randn(6, 9).relu()
    layer = FeatureLinear(9, 4)
    torch.testing.assert_close(layer(x.to_sparse_csr()), layer(x))
    stem = Stem(9, 4).eval()
    nodes = torch.tensor([4, 0, 4])
    torch.testing.assert_close(stem(x.to_sparse_csr(), nodes), stem(x)[nodes])


def test_embeddings_belong_to_their_nodes() -> None:
    stem = Stem(2, 4, num_embeddings=6).eval()
    x = torch.zeros(6, 2)
    nodes = torch.tensor([5, 1])
    torch.testing.assert_close(stem(x, nodes), stem(x)[nodes])
    assert not torch.equal(stem(x)[5], stem(x)[1])
