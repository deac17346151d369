import warnings

import pytest
import torch

from herofilter.errors import CacheWarning
from herofilter.files import save_tensors
from herofilter.spectral import cache, cached_eigenbasis, eigen_key
from tests.spectral.graphs import random_matrix


@pytest.fixture
def matrix():
    return random_matrix(30, 50)


def forbid(monkeypatch):
    def decompose(*_):
        raise RuntimeError("decomposed again")

    monkeypatch.setattr(cache, "eigen_decompose", decompose)


def test_second_call_reads_the_file(tmp_path, matrix, monkeypatch):
    first = cached_eigenbasis(matrix, 9, tmp_path)
    forbid(monkeypatch)
    second = cached_eigenbasis(matrix, 9, tmp_path)
    assert torch.equal(first.eigenvalues, second.eigenvalues)
    assert torch.equal(first.vectors, second.vectors)
    with pytest.raises(RuntimeError, match="decomposed again"):
        cached_eigenbasis(matrix, 8, tmp_path)


def test_default_folder_is_in_the_cache(tmp_path, matrix, monkeypatch):
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path))
    cached_eigenbasis(matrix)
    assert [path.name for path in (tmp_path / "eigen").iterdir()] == [
        f"{eigen_key(matrix)}.safetensors"
    ]


def test_key_is_of_the_content(matrix):
    other = matrix.copy()
    other.indices = other.indices.astype("int64")
    assert eigen_key(other) == eigen_key(matrix) == eigen_key(matrix, 30) == eigen_key(matrix, 99)
    changed = matrix.copy()
    changed.data[0] += 1e-12
    assert len({eigen_key(matrix), eigen_key(matrix, 29), eigen_key(changed)}) == 3


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_truncated_file_is_computed_again(tmp_path, matrix, keep):
    first = cached_eigenbasis(matrix, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.warns(CacheWarning, match="is damaged; computing it again"):
        second = cached_eigenbasis(matrix, folder=tmp_path)
    assert torch.equal(first.vectors, second.vectors)
    assert path.read_bytes() == content


def test_flipped_byte_is_noticed(tmp_path, matrix):
    first = cached_eigenbasis(matrix, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.warns(CacheWarning):
        second = cached_eigenbasis(matrix, folder=tmp_path)
    assert torch.equal(first.vectors, second.vectors)


@pytest.mark.parametrize(
    "tensors",
    [{"other": torch.zeros(1)}, {"eigenvalues": torch.zeros(2), "vectors": torch.zeros(3, 2)}],
)
def test_valid_file_with_other_content_is_computed_again(tmp_path, matrix, tensors):
    save_tensors(tmp_path / f"{eigen_key(matrix)}.safetensors", tensors)
    with pytest.warns(CacheWarning):
        assert cached_eigenbasis(matrix, folder=tmp_path).vectors.shape == (30, 30)


def test_unwritable_folder_costs_only_a_warning(tmp_path, matrix):
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder should be")
    with pytest.warns(CacheWarning, match="set HEROFILTER_CACHE to a folder that can be written"):
        basis = cached_eigenbasis(matrix, folder=blocked / "eigen")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(basis.vectors, cached_eigenbasis(matrix, folder=tmp_path).vectors)
