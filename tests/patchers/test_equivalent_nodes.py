"""Structurally equivalent nodes are found and merged."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from herofilter.data import load_dataset, on_disk
from herofilter.patchers import FastPatcher, RelationSummary, equivalent_nodes as module
from herofilter.patchers.equivalent_nodes import find_equivalent_nodes, merge_equivalent_nodes
from herofilter.settings import RELATIONS
from herofilter.spectral.products import csr_of
from herofilter.spectral.sparse import csr_arrays
from tests import awkward


def with_equivalent_nodes(weighted=True):
    """Repeat each node of a small matrix one to four times; return it and the node repeated."""
    generator = np.random.default_rng(0)
    small = sp.random_array((12, 12), density=0.4, rng=generator, dtype=np.float32).toarray()
    small = small if weighted else (small > 0).astype(np.float32)
    owner = generator.permutation(np.repeat(np.arange(12), generator.integers(1, 5, size=12)))
    return sp.csr_array(small[owner][:, owner]), owner


def groups_of(matrix):
    return find_equivalent_nodes(
        *(csr_arrays(csr_of(sp.csr_array(one))) for one in (matrix, matrix.T))
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_are_the_nodes_with_equal_rows_and_columns(weighted):
    matrix, owner = with_equivalent_nodes(weighted)
    nodes, dense = groups_of(matrix), matrix.toarray()
    both = np.hstack([dense, dense.T])
    equal = (both[:, None] == both[None]).all(-1)
    np.testing.assert_array_equal(nodes.group[:, None] == nodes.group[None], equal)
    assert len(nodes.first) <= owner.max() + 1 < len(owner)
    np.testing.assert_allclose(nodes.share, 1 / np.bincount(nodes.group))
    np.testing.assert_array_equal(nodes.group[nodes.first], np.arange(len(nodes.first)))
    # the first of its group, and groups with more edges before others
    assert all(nodes.first[group] <= node for node, group in enumerate(nodes.group))
    assert (np.diff(np.diff(matrix.indptr)[nodes.first]) <= 0).all()


def test_merged_matrix_gives_the_same_product():
    matrix, _ = with_equivalent_nodes()
    nodes = groups_of(matrix)
    dense = np.random.default_rng(1).normal(size=(matrix.shape[0], 3))
    groups = range(len(nodes.first))
    means = np.stack([dense[nodes.group == group].mean(0) for group in groups])
    found = (merge_equivalent_nodes(matrix, nodes) @ means)[nodes.group]
    np.testing.assert_allclose(found, matrix @ dense, rtol=1e-5)


def test_equal_hashes_are_not_enough(monkeypatch):
    matrix, _ = with_equivalent_nodes()
    expected = groups_of(matrix)
    # every row has the hash of every other one
    monkeypatch.setattr(module, "_add_keys", lambda *_: None)
    found = groups_of(matrix)
    pairs = found.group[:, None] == found.group[None]
    assert not (pairs & (expected.group[:, None] != expected.group[None])).any()


@pytest.mark.parametrize("name", awkward.AWKWARD)
def test_awkward_graphs_keep_their_summaries(name):
    data = awkward.AWKWARD[name]()
    hidden = torch.randn(data.num_nodes, 8, generator=torch.Generator().manual_seed(0))
    summary = RelationSummary(data, FastPatcher(2, directed="keep", relations=RELATIONS))
    expected = summary.summarise(hidden)
    with torch.no_grad():
        torch.testing.assert_close(summary.summarise(hidden), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("directed", ["keep", "symmetrise"])
@pytest.mark.parametrize("self_loops", [False, True])
def test_summaries_of_equivalent_nodes(directed, self_loops):
    matrix, _ = with_equivalent_nodes(weighted=False)
    edges = torch.from_numpy(np.stack(matrix.nonzero())).long()
    data = Data(edge_index=edges, num_nodes=matrix.shape[0])
    patcher = FastPatcher(4, c=0.3, self_loops=self_loops, directed=directed, relations=RELATIONS)
    summary = RelationSummary(data, patcher)
    # self-loops tell equivalent nodes apart unless they are neighbours, which some of these are
    assert len(summary.equivalent.first) < matrix.shape[0]
    hidden = torch.randn(matrix.shape[0], 40, generator=torch.Generator().manual_seed(0))
    expected = summary.summarise(hidden)
    with torch.no_grad():
        torch.testing.assert_close(summary.summarise(hidden), expected, rtol=1e-4, atol=1e-5)
        nodes = torch.tensor([3, 0, 3])
        torch.testing.assert_close(
            summary.summarise(hidden, nodes), expected[:, nodes], rtol=1e-4, atol=1e-5
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "groups", "edges", "kept"),
    [("chameleon", 1223, 62_742, 29_104), ("squirrel", 3307, 396_706, 178_746)],
)
def test_real_graphs_have_many(graph, groups, edges, kept):
    if not on_disk(graph):
        pytest.skip("not on disk")
    data = load_dataset(graph)
    patcher = FastPatcher(4, self_loops=False, directed="symmetrise", relations=("out",))
    summary = RelationSummary(data, patcher)
    assert len(summary.equivalent.first) == groups
    assert summary.matrix.values().numel() == edges
    assert len(summary.merged[0][1]) == kept


def jit_cases():
    return groups_of(with_equivalent_nodes()[0])._asdict()


def test_without_jit(without_jit):
    compiled = jit_cases()
    assert len(compiled) == 3
    for name in compiled:
        np.testing.assert_array_equal(compiled[name], without_jit[name])
