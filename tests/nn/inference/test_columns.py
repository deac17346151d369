"""An MLP along eight columns says what numpy says."""

import numpy as np
import pytest
from numba import njit

from herofilter.nn.inference.columns import HIDDEN, mix_columns
from tests.patchers.ppr.test_push import compiled_and_plain

DEPTHS = (0, 1, 11, 33)
WITHOUT_JIT = """
import sys
import numpy as np
from tests.nn.inference.test_columns import DEPTHS, run

np.savez(sys.argv[1], **{str(depth): run(depth)[0] for depth in DEPTHS})
"""


@njit
def call(first, second, weights, bias, bias_first, table, table_first, depth, out, out_first):
    mix_columns(
        first, second, weights, bias, bias_first, table, table_first, table.shape[1], depth,
        out, out_first, out.shape[1],
    )  # fmt: skip


def run(depth):
    """Return a table with eight columns in its midst added to, and what it should be."""
    draw = np.random.default_rng(0)
    shapes = [(3, depth, HIDDEN)] * 2 + [(30,), (depth + 4, 13), (depth + 5, 17)]
    first, second, bias, table, out = (
        draw.normal(size=shape).astype(np.float32) for shape in shapes
    )
    expected = out.copy()
    hidden = first[1].T @ table[2 : 2 + depth, 3:11] + bias[9 : 9 + HIDDEN, None]
    expected[4 : 4 + depth, 6:14] += second[1] @ np.maximum(hidden, 0)
    call(
        first, second, depth * HIDDEN, bias, 9, table, 2 * 13 + 3, depth, out, 4 * 17 + 6
    )  # fmt: skip
    return out, expected


@pytest.mark.parametrize("depth", DEPTHS)
def test_it_is_the_mlp_and_touches_nothing_else(depth):
    found, expected = run(depth)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    untouched = np.ones_like(found, dtype=bool)
    untouched[4 : 4 + depth, 6:14] = False
    np.testing.assert_array_equal(found[untouched], expected[untouched])


def test_without_jit(tmp_path, monkeypatch):
    compiled, plain = compiled_and_plain(WITHOUT_JIT, tmp_path, monkeypatch)
    assert len(compiled) == len(DEPTHS)
    for name, expected in compiled.items():
        np.testing.assert_allclose(plain[name], expected, rtol=1e-4, atol=1e-4, err_msg=name)
