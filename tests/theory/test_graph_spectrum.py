import pytest
import torch
from torch_geometric.data import Data

from herofilter import memory
from herofilter.errors import GraphError, OutOfMemoryError
from herofilter.spectral import GCNFilter, normalised_adjacency
from herofilter.theory import GraphSpectrum, graph_spectrum
from tests.awkward import AWKWARD, complete, plain


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("name", AWKWARD)
def test_the_spectrum_gives_the_matrix_back(name: str, self_loops: bool) -> None:
    data = AWKWARD[name]()
    found = graph_spectrum(data, self_loops=self_loops)
    matrix = normalised_adjacency(
        data.edge_index, data.num_nodes, data.get("edge_weight"), self_loops=self_loops
    )
    made = found.vectors @ found.eigenvalues.diag() @ found.vectors.t()
    torch.testing.assert_close(made, torch.from_numpy(matrix.toarray()))
    torch.testing.assert_close(
        found.vectors.t() @ found.vectors, torch.eye(found.num_nodes, dtype=torch.float64)
    )
    assert bool((found.eigenvalues.diff() >= 0).all())


def test_repeated_eigenvalues_are_counted() -> None:
    # a complete graph of eight nodes with self-loops: 0 seven times and 1 once
    assert graph_spectrum(complete()).num_repeated == 7
    values = torch.tensor([-0.5, -0.5, 0.1, 0.2, 0.2, 0.2, 1.0]).double()
    assert GraphSpectrum(values, torch.eye(7).double()).num_repeated == 5
    assert GraphSpectrum(values[:1], torch.eye(1).double()).num_repeated == 0


def test_rounding_errors_of_zero_become_zero() -> None:
    found = graph_spectrum(complete())
    constant = found.transform(torch.full((8,), 0.3))
    assert int(torch.count_nonzero(constant)) == 1
    signal = torch.arange(16.0).view(8, 2)
    torch.testing.assert_close(found.transform(signal), found.vectors.t() @ signal.double())


def test_a_filter_may_be_a_function_or_its_values() -> None:
    found, low = graph_spectrum(plain()), GCNFilter()
    by_function = found.response(lambda values: low.response(values, low.initial_weights(values)))
    assert torch.equal(by_function, found.response(by_function.clone()))


def test_a_filter_of_another_shape_is_refused() -> None:
    with pytest.raises(GraphError) as caught:
        graph_spectrum(plain()).response(torch.zeros(3))
    assert str(caught.value) == (
        "g must give one finite value for each of the 10 eigenvalues (got shape [3]); "
        "return a tensor of the shape of its argument"
    )


def test_a_signal_of_another_graph_is_refused() -> None:
    with pytest.raises(GraphError) as caught:
        graph_spectrum(plain()).transform(torch.zeros(3))
    assert str(caught.value) == (
        "the signal must have one row for each of the 10 nodes (got shape [3]); "
        "take it from the same graph"
    )


def test_a_large_graph_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 2**30)
    large = Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=20_000)
    with pytest.raises(OutOfMemoryError) as caught:
        graph_spectrum(large)
    assert str(caught.value) == (
        "the complete spectrum of 20000 nodes needs 16 GiB (1 GiB are free); "
        "take a smaller graph, or a part of this one"
    )
