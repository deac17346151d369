"""A sparse matrix times rows of numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

from herofilter.kernels import multiply_rows
from tests.patchers.test_push import compiled_and_plain

# all numbers of vectors that are added up at once
WIDTHS = (8, 16, 32, 64, 112)
WITHOUT_JIT = """
import sys
import numpy as np
from tests.kernels.test_rows import WIDTHS, product

np.savez(sys.argv[1], **{str(width): product(width, np.int32)[0] for width in WIDTHS})
"""


def product(width, kind):
    """Return a product with empty rows at both ends and in the midst, and SciPy's."""
    draw = np.random.default_rng(0)
    matrix = sp.random_array((20, 30), density=0.2, rng=draw, format="lil", dtype=np.float32)
    for row in (0, 9, 19):
        matrix[row] = 0
    matrix, dense = matrix.tocsr(), draw.normal(size=(30, width)).astype(np.float32)
    out = np.full((20, width), np.nan, dtype=np.float32)
    crow, col = matrix.indptr.astype(np.int64), matrix.indices.astype(kind)
    multiply_rows(crow, col, matrix.data, dense, out)
    return out, matrix @ dense


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_the_product(width, kind):
    found, expected = product(width, kind)
    assert (found[9] == 0).all()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_without_jit(tmp_path, monkeypatch):
    compiled, plain = compiled_and_plain(WITHOUT_JIT, tmp_path, monkeypatch)
    assert len(compiled) == len(WIDTHS)
    for name, expected in compiled.items():
        np.testing.assert_allclose(plain[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
