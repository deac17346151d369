"""Pieces of work are taken by one thread each, and none is left."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from herofilter.nn.inference.work_queue import _plain, take_turn


@njit(nogil=True)
def take_all(counter, step, done):
    begin = take_turn(counter, step)
    while begin < done.size:
        for place in range(begin, min(begin + step, done.size)):
            done[place] += 1
        begin = take_turn(counter, step)


def test_every_piece_is_taken_once():
    counter, done = np.zeros(1, dtype=np.int64), np.zeros(1_000_003, dtype=np.int64)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: take_all(counter, 7, done), range(4)))
    assert (done == 1).all()


def test_without_jit():
    counter = np.zeros(1, dtype=np.int64)
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda _: _plain(counter, 3), range(200)))
    assert sorted(taken) == list(range(0, 600, 3))
