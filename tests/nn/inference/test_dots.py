"""Dot products of two rows with others are numpy's."""

import numpy as np
import pytest
from numba import njit

from herofilter.nn.inference.dots import add_dots
from tests.patchers.ppr.test_push import compiled_and_plain

# all numbers of rows that are summed up at once, and several at a time
OTHERS = (0, 1, 2, 3, 4, 5, 6, 7, 40)
DEPTHS = (0, 8, 24)
WITHOUT_JIT = """
import sys
import numpy as np
from tests.nn.inference.test_dots import DEPTHS, OTHERS, run

results = {f"{others} {depth}": run(others, depth)[0] for others in OTHERS for depth in DEPTHS}
np.savez(sys.argv[1], **results)
"""


@njit
def call(a, first, row, b, depth, c, c_first, c_row):
    add_dots(a, first, row, b, depth, c, c_first, c_row)


def run(others, depth):
    """Return a table with two rows in its midst added to, and what it should be."""
    draw = np.random.default_rng(0)
    shapes = [(5, depth + 3), (others, depth), (4, others + 5)]
    a, b, c = (draw.normal(size=shape).astype(np.float32) for shape in shapes)
    expected = c.copy()
    expected[1:3, 2 : 2 + others] += a[2:4, 1 : 1 + depth] @ b.T
    call(a, 2 * (depth + 3) + 1, depth + 3, b, depth, c, others + 7, others + 5)
    return c, expected


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("others", OTHERS)
def test_they_are_the_products_and_touch_nothing_else(others, depth):
    found, expected = run(others, depth)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_without_jit(tmp_path, monkeypatch):
    compiled, plain = compiled_and_plain(WITHOUT_JIT, tmp_path, monkeypatch)
    assert len(compiled) == len(OTHERS) * len(DEPTHS)
    for name, expected in compiled.items():
        np.testing.assert_allclose(plain[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
