"""LayerNorm of six rows at once is torch's."""

import numpy as np
import pytest
import torch
from numba import njit

from herofilter.nn.inference.norms import normalise_rows, row_units
from tests.patchers.ppr.test_push import compiled_and_plain

WIDTHS = (8, 24, 64)
WITHOUT_JIT = """
import sys
import numpy as np
from tests.nn.inference.test_norms import WIDTHS, run, units

results = {str(width): run(width)[0] for width in WIDTHS}
results |= {f"units {width}": units(width)[0] for width in WIDTHS}
np.savez(sys.argv[1], **results)
"""


@njit
def call(table, first, row, norm, width, eps, out, out_first, out_row):
    normalise_rows(table, first, row, norm, width, eps, out, out_first, out_row)


def run(width):
    """Return six rows in the midst of a table after LayerNorm, and what they should be."""
    draw = np.random.default_rng(0)
    table, norm = (
        draw.normal(size=shape).astype(np.float32) for shape in ((9, width + 5), (2, width))
    )
    # far from zero: squares of the numbers themselves would lose the variance
    table += 1000
    table[4] = 7.0
    out = np.full((10, width + 3), np.nan, dtype=np.float32)
    expected, eps = out.copy(), 1e-5
    expected[3:9, 2 : 2 + width] = torch.nn.functional.layer_norm(
        torch.from_numpy(table[1:7, 4 : 4 + width]), (width,), *map(torch.from_numpy, norm), eps
    )
    stride, out_stride = table.shape[1], out.shape[1]
    first, out_first = stride + 4, 3 * out_stride + 2
    call(table, first, stride, norm, width, np.float32(eps), out, out_first, out_stride)
    return out, expected


@njit
def call_units(table, first, row, width, eps, out, out_first):
    row_units(table, first, row, width, eps, out, out_first)


def units(width):
    """Return the factors of six rows in the midst of a table, and what they should be."""
    table = np.random.default_rng(0).normal(100, 3, size=(9, width + 5)).astype(np.float32)
    out = np.full(10, np.nan, dtype=np.float32)
    expected, stride = out.copy(), table.shape[1]
    expected[2:8] = 1 / np.sqrt(table[1:7, 4 : 4 + width].var(1, dtype=np.float64) + 0.5)
    call_units(table, stride + 4, stride, width, np.float32(0.5), out, 2)
    return out, expected


@pytest.mark.parametrize("width", WIDTHS)
def test_units_are_one_over_the_deviation(width):
    found, expected = units(width)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_torchs_and_touches_nothing_else(width):
    found, expected = run(width)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    # a row of equal numbers is all bias
    np.testing.assert_allclose(found[6], expected[6], rtol=1e-6)


def test_without_jit(tmp_path, monkeypatch):
    compiled, plain = compiled_and_plain(WITHOUT_JIT, tmp_path, monkeypatch)
    assert len(compiled) == 2 * len(WIDTHS)
    for name, expected in compiled.items():
        np.testing.assert_allclose(plain[name], expected, rtol=1e-3, atol=1e-3, err_msg=name)
