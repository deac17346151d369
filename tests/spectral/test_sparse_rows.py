"""Compiled products of a sparse matrix with a dense one."""

import numpy as np
import pytest
import scipy.sparse as sp

from herofilter.spectral.sparse_rows import layer_columns, multiply_rows, sum_sparse_products

# all widths of vectors that are summed at once
WIDTHS = (8, 16, 32, 64, 112)


def product(width, kind):
    """Return a product with empty rows at both ends and in the midst, and SciPy's."""
    rng = np.random.default_rng(0)
    matrix = sp.random_array((20, 30), density=0.2, rng=rng, format="lil", dtype=np.float32)
    for row in (0, 9, 19):
        matrix[row] = 0
    matrix, dense = matrix.tocsr(), rng.normal(size=(30, width)).astype(np.float32)
    out = np.full((20, width), np.nan, dtype=np.float32)
    crow, col = matrix.indptr.astype(np.int64), matrix.indices.astype(kind)
    multiply_rows(crow, col, matrix.data, dense, out)
    return out, matrix @ dense


def products(width, grouped):
    """Return two sums of products that share their prefix, and what they should be."""
    rng = np.random.default_rng(1)
    matrix = sp.random_array((30, 30), density=0.15, rng=rng, format="csr", dtype=np.float32)
    transposed = sp.csr_array(matrix.T)
    # each row stands for one node, or some for several
    group = rng.permutation(np.r_[np.arange(30), rng.integers(10, size=20)] if grouped else 30)
    sizes = np.bincount(group)
    dense = rng.normal(size=(len(group), width)).astype(np.float32)
    out = np.full((2, len(group), width), np.nan, dtype=np.float32)
    # N·H, Nᵀ·N·H and N·N·H
    steps = np.array([[0, 0, 1], [1, 1, 2], [0, 1, 2]])
    factors = np.array([[0.5, 0.0], [0.0, 2.0], [0.25, -1.0]], dtype=np.float32)
    matrices = [
        (m.indptr.astype(np.int64), m.indices.astype(np.int64), m.data)
        for m in (matrix, transposed)
    ]
    leader, share = np.unique(group, return_index=True)[1], (1 / sizes).astype(np.float32)
    for first in range(0, width, 32):
        sum_sparse_products(*matrices, group, leader, share, steps, factors, dense, first, out)
    means = np.stack([dense[group == row].mean(0) for row in range(30)])
    once = matrix @ means
    terms = np.stack([once, transposed @ once, matrix @ once])
    return out, np.einsum("wr,wnh->rnh", factors, terms)[:, group]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("width", [4, 32, 40])
def test_products_are_summed(width, grouped):
    found, expected = products(width, grouped)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def layer(width):
    """Return a layer's output, and what it should be."""
    rng = np.random.default_rng(2)
    matrix = sp.random_array((20, 30), density=0.2, rng=rng, format="csr", dtype=np.float32)
    weight, bias = (rng.normal(size=size).astype(np.float32) for size in ((30, width), width))
    out = np.full((20, width), np.nan, dtype=np.float32)
    rows = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data
    for first in range(0, width, 32):
        layer_columns(*rows, weight, bias, first, out)
    return out, np.maximum(matrix @ weight + bias, 0)


@pytest.mark.parametrize("width", WIDTHS)
def test_columns_make_up_a_layer(width):
    found, expected = layer(width)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_the_product(width, kind):
    found, expected = product(width, kind)
    assert (found[9] == 0).all()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def jit_cases():
    results = {str(width): product(width, np.int32)[0] for width in WIDTHS}
    results |= {f"products {grouped}": products(40, grouped)[0] for grouped in (False, True)}
    return results | {"layer": layer(40)[0]}


def test_without_jit(without_jit):
    compiled = jit_cases()
    assert len(compiled) == len(WIDTHS) + 3
    for name, expected in compiled.items():
        np.testing.assert_allclose(without_jit[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
