"""Push in a hash table: the scores of push in arrays, to the bit, however small the table."""

import numpy as np
import pytest
import scipy.sparse as sp

from herofilter.patchers import FastPatcher
from herofilter.patchers.ppr import push_table
from herofilter.patchers.ppr.push_table import (
    TablePush,
    degrees_of_ends,
    make_table,
    push_rows_in_table,
)
from herofilter.patchers.relations import Found, PushRelation
from tests.patchers.ppr.test_push import random_adjacency

NODES = np.arange(200)


def unweighted(n: int = 200, symmetric: bool = True) -> sp.csr_array:
    matrix = random_adjacency(n, symmetric=symmetric)
    matrix.data[:] = 1.0
    return matrix


def both(
    matrix: sp.csr_array, monkeypatch: pytest.MonkeyPatch, ego: bool = True, eps: float = 1e-5
) -> tuple[Found, Found]:
    arrays = PushRelation(matrix, 0.5, eps, ego)
    monkeypatch.setattr(push_table, "TABLE_FROM", 0)
    table = PushRelation(matrix, 0.5, eps, ego)
    assert arrays.ends is None
    assert table.ends is not None
    return arrays.top(NODES, 9), table.top(NODES, 9)


def assert_same(found: Found, expected: Found) -> None:
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_array_equal(found.score.view(np.int32), expected.score.view(np.int32))
    assert found.edges == expected.edges > 1000
    assert (expected.index >= 0).sum() > 500


@pytest.mark.parametrize("ego", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_numbers_of_arrays(
    monkeypatch: pytest.MonkeyPatch, weighted: bool, symmetric: bool, ego: bool
) -> None:
    matrix = random_adjacency(200, symmetric=symmetric) if weighted else unweighted(200, symmetric)
    expected, found = both(matrix, monkeypatch, ego)
    assert_same(found, expected)


def test_edges_without_weight_reach_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_adjacency(200)
    matrix.data[matrix.data < 0.2] = 0.0
    expected, found = both(matrix, monkeypatch)
    assert_same(found, expected)


@pytest.mark.parametrize("bits", [2, 5, 7])
def test_rows_that_do_not_fit_get_a_larger_table(
    monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    monkeypatch.setattr(TablePush.__init__, "__defaults__", (bits,))
    expected, found = both(unweighted(), monkeypatch)
    assert_same(found, expected)


def test_a_table_grows_for_good_once_it_was_too_small_often() -> None:
    relation = PushRelation(unweighted(), 0.5, 1e-5, True)
    ends = degrees_of_ends(relation.graph)
    push = TablePush(relation.graph, ends, relation.rule, bits=6)
    index, score = np.full((200, 9), -1), np.zeros((200, 9), dtype=np.float32)
    push.fill(np.arange(200, dtype=np.int32), index, score)
    assert push.bits > 6
    assert push.misses < push_table.PATIENCE
    assert (index[:, 0] >= 0).all()


def test_a_table_is_left_empty() -> None:
    relation = PushRelation(unweighted(), 0.5, 1e-5, True)
    ends, sources = degrees_of_ends(relation.graph), np.arange(200, dtype=np.int32)
    for bits, all_fit in ((10, True), (6, False)):
        table = make_table(relation.graph, bits)
        index, score = np.full((200, 9), -1), np.zeros((200, 9), dtype=np.float32)
        _, done = push_rows_in_table(
            relation.graph, ends, table, relation.rule, sources, index, score, None
        )
        assert (done == 200) == all_fit
        assert (table.keys == -1).all()
        assert (table.state == 0).all()
        # the row that didn't fit is as it was
        assert (index[done:] == -1).all()


def test_degrees_keep_their_bits() -> None:
    plain = PushRelation(unweighted(), 0.5, 1e-5, True).graph
    weighted = PushRelation(random_adjacency(200), 0.5, 1e-5, True).graph
    assert degrees_of_ends(plain).dtype == np.float32
    assert degrees_of_ends(weighted).dtype == np.float64
    for graph in (plain, weighted):
        np.testing.assert_array_equal(degrees_of_ends(graph), graph.degree[graph.indices])


def test_certified_rows_are_pushed_in_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_table, "TABLE_FROM", 0)
    assert PushRelation(unweighted(), 0.5, 1e-5, True, refine=100).ends is None


def test_the_estimate_of_memory_does_not_count_nodes_per_thread() -> None:
    patcher, certain = FastPatcher(patch_size=16), FastPatcher(patch_size=16, refine=1000)
    million = 10**6
    assert patcher.memory(100 * million, million) < certain.memory(100 * million, million)


def jit_cases() -> dict[str, np.ndarray]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(push_table, "TABLE_FROM", 0)
        patch.setattr(push_table.TablePush.__init__, "__defaults__", (5,))
        found = PushRelation(unweighted(60), 0.5, 1e-3, True).top(np.arange(60), 7)
    return {"index": found.index, "score": found.score.view(np.int32)}


def test_without_jit_bit_for_bit(without_jit: dict[str, np.ndarray]) -> None:
    for name, expected in jit_cases().items():
        np.testing.assert_array_equal(without_jit[name], expected, name)
