"""A tile of a product says what numpy says of the same rows and columns."""

import numpy as np
import pytest
from numba import njit

from herofilter.kernels import tiles
from tests.patchers.test_push import compiled_and_plain

DEPTHS = (0, 1, 7, 64)
KINDS = {"add_tile": tiles.TALL, "layer_tile": tiles.WIDE}
WITHOUT_JIT = """
import sys
import numpy as np
from tests.kernels.test_tiles import DEPTHS, KINDS, run

results = {f"{kind} {depth}": run(kind, depth)[0] for kind in KINDS for depth in DEPTHS}
np.savez(sys.argv[1], **results)
"""


def caller(tile):
    @njit
    def call(a, a_first, b, b_first, depth, c, c_first, unit, unit_first, bias, bias_first):
        tile(
            a, a_first, a.shape[1], b, b_first, b.shape[1], depth,
            c, c_first, c.shape[1], unit, unit_first, bias, bias_first,
        )  # fmt: skip

    return call


def run(kind, depth):
    """Return what a tile leaves in the midst of a larger matrix, and what it should."""
    (rows, columns), draw = KINDS[kind], np.random.default_rng(0)
    shapes = [(rows + 3, 70), (70, columns + 9), (rows + 5, columns + 11), (30,), (40,)]
    a, b, c, unit, bias = (draw.normal(size=shape).astype(np.float32) for shape in shapes)
    expected = c.copy()
    product = a[2 : 2 + rows, 3 : 3 + depth] @ b[1 : 1 + depth, 5 : 5 + columns]
    target = expected[4 : 4 + rows, 6 : 6 + columns]
    if kind == "layer_tile":
        product *= unit[7 : 7 + rows, None]
        target[:] = np.maximum(product + bias[8 : 8 + columns], 0)
    else:
        target += product
    a_first, b_first, c_first = 2 * 70 + 3, b.shape[1] + 5, 4 * c.shape[1] + 6
    caller(getattr(tiles, kind))(a, a_first, b, b_first, depth, c, c_first, unit, 7, bias, 8)
    return c, expected


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_product_and_touches_nothing_else(kind, depth):
    found, expected = run(kind, depth)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_without_jit(tmp_path, monkeypatch):
    compiled, plain = compiled_and_plain(WITHOUT_JIT, tmp_path, monkeypatch)
    assert len(compiled) == len(KINDS) * len(DEPTHS)
    for name, expected in compiled.items():
        np.testing.assert_allclose(plain[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
