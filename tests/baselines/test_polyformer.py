"""PolyFormer: attention as a polynomial filter, node by node, against dense algebra."""

import math

import pytest
import torch

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.poly_attention import PolyAttention
from herofilter.baselines.polyformer import PolyFormer
from herofilter.baselines.polynomial_tokens import PolynomialTokens
from herofilter.config import Config
from herofilter.errors import ConfigError
from herofilter.nn import find_model
from tests.awkward import AWKWARD

BASES = ["monomial", "bernstein", "chebyshev"]
SMALL = Config().replace(hidden_channels=8)


def laplacian_basis(basis: str, order: int, laplacian: torch.Tensor) -> list[torch.Tensor]:
    """Return the dense matrices P_0(L), …, P_K(L) by products, one after the other."""
    one, power = torch.eye(len(laplacian)).double(), torch.linalg.matrix_power
    if basis == "monomial":
        return [power(one - laplacian, k) for k in range(order + 1)]
    if basis == "bernstein":
        return [
            math.comb(order, k)
            / 2**order
            * power(2 * one - laplacian, order - k)
            @ power(laplacian, k)
            for k in range(order + 1)
        ]
    found = [one, laplacian - one]
    for _ in range(order - 1):
        found.append(2 * (laplacian - one) @ found[-1] - found[-2])
    return found


@pytest.mark.parametrize("basis", BASES)
def test_constant_attention_is_a_polynomial_filter(basis: str) -> None:
    torch.manual_seed(0)
    data = AWKWARD["weighted"]()
    tokens, attention = PolynomialTokens(4, 8, 4, basis, loops=False), PolyAttention(8, 5, 2)
    tokens.eval()
    with torch.no_grad():
        # every query and every key is then the same vector, whatever the token
        attention.order_weight.zero_()
        attention.order_bias.copy_(torch.rand(8).expand(5, 1, 8))
        attention.order_scale.copy_(torch.randn(1, 1, 5).expand(2, 1, 5))
        tokens.bias.zero_()
    hidden = tokens(data)
    score = attention.weights(hidden)
    torch.testing.assert_close(score, score[:1, :, :1].expand_as(score))
    dense = torch.eye(10).double() - propagation(data, "sym", loops=False)(torch.eye(10)).double()
    basis_matrices = laplacian_basis(basis, 4, dense)
    features = data.x.double() @ tokens.linear.weight.double()
    for head, part in enumerate((slice(0, 4), slice(4, 8))):
        # five queries, each with the same weights
        coefficient = 5 * score[0, head, 0].double()
        response = sum(c * m for c, m in zip(coefficient, basis_matrices, strict=True))
        expected = (response @ features)[:, part]
        found = attention(hidden).sum(1)[:, part]
        torch.testing.assert_close(found, expected.float(), rtol=1e-4, atol=1e-5)


def test_attention_is_a_filter_of_each_node() -> None:
    torch.manual_seed(0)
    attention, tokens = PolyAttention(8, 5, 2), torch.randn(6, 5, 8)
    alpha = attention.weights(tokens).sum(2)
    # [6, 2, 5] and [6, 5, 2, 4]: each order times its coefficient
    expected = torch.einsum("vak,vkac->vac", alpha, tokens.view(6, 5, 2, 4)).reshape(6, 8)
    torch.testing.assert_close(attention(tokens).sum(1), expected)
    assert not torch.allclose(alpha[0], alpha[1])
    assert bool((alpha < 0).any())


def test_scores_against_a_slow_loop() -> None:
    torch.manual_seed(0)
    attention, tokens = PolyAttention(8, 3, 2), torch.randn(4, 3, 8)
    attention.order_scale.data.normal_()
    query, key = attention.query_key.weight.split(8)
    found = attention.weights(tokens)
    for node in range(4):
        hidden = [
            (tokens[node, k] @ attention.order_weight[k] + attention.order_bias[k, 0]).relu()
            for k in range(3)
        ]
        for head, part in enumerate((slice(0, 4), slice(4, 8))):
            for i in range(3):
                for j in range(3):
                    dot = (query @ hidden[i])[part] @ (key @ hidden[j])[part] / 2
                    expected = dot.tanh() * attention.order_scale[head, 0, j]
                    torch.testing.assert_close(found[node, head, i, j], expected)


def test_the_model_sums_over_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model, data = PolyFormer(4, 8, 3, num_layers=2, hops=3).eval(), AWKWARD["plain"]()
    tokens = model.tokens(data)
    for block in model.blocks:
        tokens = tokens + block.attention(block.attention_norm(tokens))
        tokens = tokens + block.feed(block.feed_norm(tokens))
    logits = model(data)
    torch.testing.assert_close(logits, model.head(tokens.sum(1)))
    # three nodes, four tokens, eight channels
    monkeypatch.setattr("herofilter.baselines.token_encoder._CHUNK_BYTES", 3 * 4 * 4 * 8)
    torch.testing.assert_close(model(data), logits)


def test_settings_reach_the_model() -> None:
    data = AWKWARD["plain"]()
    default = find_model("polyformer").build(data, SMALL)
    tokens = default.tokens
    assert (tokens.hops, tokens.basis, tokens.loops) == (6, "chebyshev", False)
    assert [block.attention.heads for block in default.blocks] == [1]
    for basis in BASES:
        config = SMALL.replace(hops=4, heads=2, basis=basis, num_layers=3)
        model = find_model("polyformer").build(data, config)
        assert (model.tokens.hops, model.tokens.basis) == (4, basis)
        assert [block.attention.heads for block in model.blocks] == [2, 2, 2]


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ConfigError, match=r"\(got 8 channels and 3 heads\)$"):
        find_model("polyformer").build(AWKWARD["plain"](), SMALL.replace(heads=3))
