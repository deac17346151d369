"""The transformer over tokens against torch's own, and the read-out against its formula."""

import pytest
import torch
from torch import Tensor, nn

from herofilter.baselines import token_encoder as room
from herofilter.baselines.token_block import TokenBlock
from herofilter.baselines.token_encoder import TokenEncoder
from herofilter.errors import ConfigError


def some(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_attention_is_that_of_torch(heads: int, masked: bool) -> None:
    torch.manual_seed(0)
    block = TokenBlock(8, heads, 0.5)
    reference = nn.MultiheadAttention(8, heads, batch_first=True)
    for name, layer in (("in_proj", block.query_key_value), ("out_proj.", block.out)):
        end = "_" if name == "in_proj" else ""
        reference.get_parameter(f"{name}{end}weight").data.copy_(layer.weight.data)
        reference.get_parameter(f"{name}{end}bias").data.copy_(layer.bias.data)
    tokens = some(5, 3, 8)
    mask = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 1]]).bool()
    expected, _ = reference(tokens, tokens, tokens, key_padding_mask=~mask if masked else None)
    found = block.attend(tokens, mask if masked else None)
    torch.testing.assert_close(found, expected)


def test_a_block_adds_normalised_parts() -> None:
    torch.manual_seed(0)
    block, tokens = TokenBlock(8, 2, 0.5).eval(), some(4, 3, 8)
    middle = tokens + block.attend(nn.functional.layer_norm(tokens, (8,)), None)
    feed = nn.functional.gelu(block.feed.first(nn.functional.layer_norm(middle, (8,))))
    torch.testing.assert_close(block(tokens), middle + block.feed.second(feed))


def test_read_out_is_the_published_formula() -> None:
    torch.manual_seed(0)
    encoder, tokens = TokenEncoder(8, 3, 0, 2, 0.5).eval(), some(5, 4, 8)
    z = nn.functional.layer_norm(tokens, (8,))
    # the half of the weight that multiplies the node's own token has no effect
    weight = torch.cat([some(8), encoder.score.weight[0]])
    for node in range(5):
        score = torch.stack([torch.cat([z[node, 0], z[node, k]]) @ weight for k in (1, 2, 3)])
        share = score.exp() / score.exp().sum()
        expected = z[node, 0] + sum(share[k - 1] * z[node, k] for k in (1, 2, 3))
        torch.testing.assert_close(encoder.read(tokens, None)[node], expected)


def test_masked_tokens_have_no_effect() -> None:
    torch.manual_seed(0)
    encoder, tokens = TokenEncoder(8, 3, 2, 2, 0.5).eval(), some(2, 4, 8)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]]).bool()
    before = encoder(tokens, mask)
    torch.testing.assert_close(before[:1], encoder(tokens[:1, :2]))
    torch.testing.assert_close(before[1:], encoder(tokens[1:]))
    tokens[:, 2:] += some(2, 2, 8)
    after = encoder(tokens, mask)
    torch.testing.assert_close(after[0], before[0])
    assert not torch.allclose(after[1], before[1])


def test_chunks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    encoder, tokens = TokenEncoder(8, 3, 1, 2, 0.5).eval(), some(7, 4, 8)
    mask = torch.ones(7, 4).bool()
    mask[5, 2:] = False
    logits = encoder(tokens, mask)
    monkeypatch.setattr(room, "_CHUNK_BYTES", 2 * 4 * 4 * 8)
    torch.testing.assert_close(encoder(tokens, mask), logits)
    assert encoder(tokens[:0]).shape == (0, 3)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^hidden_channels must be a multiple of heads \(got 8 channels and 3 heads\)$",
    ):
        TokenEncoder(8, 3, 1, 3, 0.5)
