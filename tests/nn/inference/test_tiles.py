"""A tile of a layer says what numpy says of the same rows and columns."""

import numpy as np
import pytest
from numba import njit

from herofilter.nn.inference.tiles import COLUMNS, ROWS, layer_tile
from tests.patchers.ppr.test_push import compiled_and_plain

DEPTHS = (0, 1, 7, 64)
WITHOUT_JIT = """
import sys
import numpy as np
from tests.nn.inference.test_tiles import DEPTHS, run

np.savez(sys.argv[1], **{str(depth): run(depth)[0] for depth in DEPTHS})
"""


@njit
def call(a, a_first, b, b_first, depth, c, c_first, unit, unit_first, bias, bias_first):
    layer_tile(
        a, a_first, a.shape[1], b, b_first, b.shape[1], depth,
        c, c_first, c.shape[1], unit, unit_first, bias, bias_first,
    )  # fmt: skip


def run(depth):
    """Return what a tile leaves in the midst of a larger matrix, and what it should."""
    draw = np.random.default_rng(0)
    shapes = [(ROWS + 3, 70), (70, COLUMNS + 9), (ROWS + 5, COLUMNS + 11), (30,), (40,)]
    a, b, c, unit, bias = (draw.normal(size=shape).astype(np.float32) for shape in shapes)
    expected = c.copy()
    product = a[2 : 2 + ROWS, 3 : 3 + depth] @ b[1 : 1 + depth, 5 : 5 + COLUMNS]
    product = product * unit[7 : 7 + ROWS, None] + bias[8 : 8 + COLUMNS]
    expected[4 : 4 + ROWS, 6 : 6 + COLUMNS] = np.maximum(product, 0)
    a_first, b_first, c_first = 2 * 70 + 3, b.shape[1] + 5, 4 * c.shape[1] + 6
    call(a, a_first, b, b_first, depth, c, c_first, unit, 7, bias, 8)
    return c, expected


@pytest.mark.parametrize("depth", DEPTHS)
def test_it_is_the_layer_and_touches_nothing_else(depth):
    found, expected = run(depth)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_without_jit(tmp_path, monkeypatch):
    compiled, plain = compiled_and_plain(WITHOUT_JIT, tmp_path, monkeypatch)
    assert len(compiled) == len(DEPTHS)
    for name, expected in compiled.items():
        np.testing.assert_allclose(plain[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
