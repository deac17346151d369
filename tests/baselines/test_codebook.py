"""The codebook against a slow loop, and its attention against dense attention."""

import pytest
import torch
from torch import Tensor

from herofilter.baselines.codebook import Codebook


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def dense(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return softmax attention among nodes, by head: ``[n, a, d]``."""
    score = torch.einsum("vac,uac->avu", query, key) / query.size(2) ** 0.5
    return torch.einsum("avu,uac->vac", score.softmax(-1), value)


def test_averages_against_a_slow_loop() -> None:
    book = Codebook(3, 2, decay=0.8)
    drifting = [some(12, 2) + 0.3 * step * some(12, 2, seed=1) for step in range(4)]
    book.update(drifting[0])
    count, total, centroid = book.size.clone(), book.total.clone(), book.centroids.clone()
    for hidden in drifting[1:]:
        book.update(hidden)
        near = [
            min(range(3), key=lambda i: float((row - centroid[i]).square().sum())) for row in hidden
        ]
        for i in range(3):
            members = [row for row, which in zip(hidden, near, strict=True) if which == i]
            count[i] = 0.8 * count[i] + 0.2 * len(members)
            total[i] = 0.8 * total[i] + 0.2 * sum(members, torch.zeros(2))
            centroid[i] = total[i] / count[i]
        torch.testing.assert_close(book.size, count)
        torch.testing.assert_close(book.total, total)
        torch.testing.assert_close(book.centroids, centroid)
    assert len(set(near)) == 3


def test_the_first_call_starts_from_distant_nodes() -> None:
    hidden = torch.cat([some(5, 2) * 0.1 + shift for shift in (0.0, 10.0, 20.0)])
    book = Codebook(3, 2)
    book.update(hidden)
    assert sorted(book.size.tolist()) == [5, 5, 5]
    found = book.centroids[book.centroids[:, 0].argsort()]
    torch.testing.assert_close(found, hidden.view(3, 5, 2).mean(1))


def test_clusters_of_one_give_dense_attention() -> None:
    hidden = some(7, 8)
    book = Codebook(7, 8)
    book.update(hidden)
    assert book.size.tolist() == [1] * 7
    query, key_weight, value_weight = some(5, 2, 4), some(8, 8, seed=1), some(8, 8, seed=2)
    found, expected = (
        attend(query, (rows @ key_weight).view(7, 2, 4), (rows @ value_weight).view(7, 2, 4))
        for attend, rows in ((book.attend, book.centroids), (dense, hidden))
    )
    torch.testing.assert_close(found, expected)


def test_a_cluster_counts_as_often_as_it_has_members() -> None:
    hidden = some(20, 4)
    book = Codebook(6, 4)
    book.update(hidden)
    near = book.nearest(hidden)
    book.size = torch.bincount(near, minlength=6).float()
    assert len(set(book.size.tolist())) > 1
    query = some(20, 1, 4)
    key, value = (rows.unsqueeze(1) for rows in (book.centroids, book.centroids @ some(4, 4)))
    torch.testing.assert_close(book.attend(query, key, value), dense(query, key[near], value[near]))


def test_more_centroids_than_nodes() -> None:
    hidden = some(3, 4)
    book = Codebook(5, 4)
    for _ in range(3):
        book.update(hidden)
    torch.testing.assert_close(book.size, torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0]))
    value = book.centroids.unsqueeze(1)
    out = book.attend(some(2, 1, 4), value, value)
    expected = dense(some(2, 1, 4), hidden.unsqueeze(1), hidden.unsqueeze(1))
    torch.testing.assert_close(out, expected)


def test_nothing_learned_stays_after_a_reset() -> None:
    book = Codebook(3, 2)
    book.update(some(9, 2))
    learned = {name: value.clone() for name, value in book.state_dict().items()}
    assert bool(learned["started"])
    book.reset_parameters()
    assert not book.started
    assert not torch.equal(book.centroids, learned["centroids"])
    book.load_state_dict(learned)
    assert all(torch.equal(value, learned[name]) for name, value in book.state_dict().items())


def test_no_gradient_passes_through_the_centroids() -> None:
    hidden = some(9, 2).requires_grad_()
    book = Codebook(3, 2)
    book.update(hidden)
    assert not book.centroids.requires_grad


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_decay_is_the_share_of_the_past(decay: float) -> None:
    book = Codebook(1, 1, decay)
    book.update(torch.tensor([[1.0]]))
    book.update(torch.tensor([[3.0]]))
    assert book.centroids.item() == pytest.approx(decay * 1 + (1 - decay) * 3)
