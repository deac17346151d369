"""BLAS has one thread inside the blocks that ask for it, and only there."""

import threading
from collections.abc import Iterator

import pytest
import scipy.linalg.cython_blas  # noqa: F401
from threadpoolctl import ThreadpoolController

from herofilter.parallel.blas import one_blas_thread


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    # as a plain call: a ``with`` would let no other thread change the setting
    limits = ThreadpoolController().select(user_api="blas").limit(limits=2)
    yield
    limits.restore_original_limits()


def blas_threads() -> set[int]:
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    assert libraries
    return {library.num_threads for library in libraries}


def test_overlapping_blocks_restore_the_setting() -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(30)

    other = threading.Thread(target=hold)
    with one_blas_thread():
        other.start()
        assert inside.wait(30)
        assert blas_threads() == {1}
    # the other thread is still inside
    assert blas_threads() == {1}
    leave.set()
    other.join()
    assert blas_threads() == {2}


def test_an_error_restores_the_setting() -> None:
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert blas_threads() == {2}
