"""Polynomial tokens against their definition at every eigenvalue, in either order of products."""

import math

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines import polynomial_tokens as room
from herofilter.baselines.adjacency import propagation
from herofilter.baselines.polynomial_tokens import PolynomialTokens, bernstein_in_chebyshev
from herofilter.data import to_sparse
from herofilter.errors import ConfigError, OutOfMemoryError
from herofilter.training import prepare_features
from tests.awkward import AWKWARD

BASES = ["monomial", "bernstein", "chebyshev"]


def polynomial(basis: str, k: int, order: int, value: Tensor) -> Tensor:
    """Return P_k at eigenvalues of the Laplacian."""
    if basis == "monomial":
        return (1 - value) ** k
    if basis == "chebyshev":
        return torch.cos(k * torch.arccos((value - 1).clamp(-1, 1)))
    return math.comb(order, k) / 2**order * (2 - value) ** (order - k) * value**k


def make(
    hops: int = 4, basis: str = "monomial", loops: bool = False, **more: int
) -> PolynomialTokens:
    torch.manual_seed(0)
    return PolynomialTokens(4, 6, hops, basis, loops, **more).eval()


def sparse(data: Data) -> Data:
    data.x = to_sparse(data.x)
    return data


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("name", ["plain", "isolated_nodes", "weighted", "complete"])
def test_the_polynomials_at_every_eigenvalue(name: str, basis: str, loops: bool) -> None:
    data = AWKWARD[name]()
    n = int(data.num_nodes or 0)
    layer = make(5, basis, loops)
    dense = propagation(data, "sym", loops)(torch.eye(n)).double()
    value, vector = torch.linalg.eigh(torch.eye(n) - dense)
    hidden = data.x.double() @ layer.linear.weight.double()
    expected = torch.stack(
        [
            vector @ (polynomial(basis, k, 5, value).unsqueeze(1) * (vector.t() @ hidden))
            for k in range(6)
        ],
        dim=1,
    )
    found = layer(data) - layer.bias
    torch.testing.assert_close(found, expected.float(), rtol=1e-4, atol=1e-5)


def test_bernstein_polynomials_add_up_to_one() -> None:
    for order in (1, 4, 10, 20):
        total = bernstein_in_chebyshev(order).sum(0)
        torch.testing.assert_close(total, torch.eye(order + 1)[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("basis", BASES)
def test_propagating_first_and_projecting_first_agree(basis: str) -> None:
    layer = make(3, basis)
    nodes = torch.tensor([7, 0, 7])
    kept, passed = AWKWARD["plain"](), sparse(AWKWARD["plain"]())
    assert layer.caches_features(kept)
    assert not layer.caches_features(passed)
    outs = [layer(data, nodes) for data in (kept, passed)]
    torch.testing.assert_close(*outs)
    torch.testing.assert_close(
        *(torch.autograd.grad(out.square().sum(), list(layer.parameters())) for out in outs)
    )


def test_a_table_too_large_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, data = make(3), AWKWARD["plain"]()
    before = layer(data)
    # ten nodes, four tokens, four features
    monkeypatch.setattr(room, "TABLE_BYTES", 4 * 10 * 4 * 4 - 1)
    assert not layer.caches_features(data)
    torch.testing.assert_close(layer(data), before)
    monkeypatch.setattr(room, "TABLE_BYTES", 4 * 10 * 4 * 4)
    assert layer.caches_features(data)


def test_a_batch_uses_the_cached_features(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, data = make(), AWKWARD["plain"]()
    tokens = layer(data)

    def refuse(*_: object) -> None:
        raise AssertionError("the graph was passed over")

    monkeypatch.setattr(PolynomialTokens, "propagate", refuse)
    torch.testing.assert_close(layer(data, torch.tensor([3])), tokens[[3]])
    data.x[0] += 1
    with pytest.raises(AssertionError, match="passed over"):
        layer(data, torch.tensor([3]))


def test_one_table_per_graph() -> None:
    data = AWKWARD["plain"]()
    few, many = make(2), make(3)
    first = few.propagated_features(data)
    assert few.propagated_features(data) is first
    assert many.propagated_features(data).shape == (10, 4, 4)
    assert few.propagated_features(data) is not first


def test_learned_vectors_are_propagated() -> None:
    data = prepare_features(AWKWARD["no_features"]())
    torch.manual_seed(0)
    layer = PolynomialTokens(2, 6, 2, num_embeddings=10)
    assert not layer.caches_features(data)
    layer(data, torch.tensor([0]))[:, 2].sum().backward()
    seen = layer.embedding.weight.grad.abs().sum(1) > 0
    reach = torch.linalg.matrix_power(propagation(data)(torch.eye(10)), 2)[0] > 0
    assert torch.equal(seen, reach)
    assert not seen.all()


def test_memory_is_asked_for_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herofilter.memory.free_memory", lambda: 1024)
    with pytest.raises(
        OutOfMemoryError,
        match=r"^5 tokens of 10 nodes needs 1.6 KiB \(1 KiB are free\); use fewer hops$",
    ):
        make()(AWKWARD["plain"]())


def test_errors() -> None:
    with pytest.raises(ConfigError, match=r"^hops must be at least 1 \(got 0\)$"):
        make(0)
    with pytest.raises(ConfigError, match=r"^basis must be one of monomial, bernstein, chebyshev"):
        make(2, "legendre")
