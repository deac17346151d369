import numpy as np
import pytest
import torch

from herofilter.data import csbm
from herofilter.errors import ConfigError, GraphError
from herofilter.files import DamagedFileError
from herofilter.patchers import PolynomialPatcher
from herofilter.patchers.patches import Patches, Slot


def some_patches(n: int = 30, p: int = 6, seed: int = 0, ego: bool = True) -> Patches:
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.randperm(n, generator=generator) for _ in range(n)]
    if ego:
        rows = [torch.cat([torch.tensor([v]), row[row != v]]) for v, row in enumerate(rows)]
    index = torch.stack(rows)[:, :p]
    score = torch.rand(n, p, generator=generator)
    short = torch.arange(0, n, 3)
    index[short, p - 2 :] = -1
    score[short, p - 2 :] = 0
    index[n - 1, 1:] = -1
    score[n - 1, 1:] = 0
    return Patches(index, score)


def same(a: Patches, b: Patches) -> bool:
    return (
        torch.equal(a.index, b.index)
        and torch.equal(a.score, b.score)
        and torch.equal(a.nodes, b.nodes)
        and (a.slots, a.num_nodes) == (b.slots, b.num_nodes)
    )


def test_defaults():
    patches = some_patches()
    assert (patches.num_rows, patches.patch_size, patches.num_nodes) == (30, 6, 30)
    assert patches.nodes.tolist() == list(range(30))
    assert patches.slots == (Slot("ego", 0, 1), Slot("patch", 1, 6))
    assert some_patches(ego=False).slots == (Slot("patch", 0, 6),)
    assert Patches(torch.arange(3)[:, None], torch.ones(3, 1)).slots == (Slot("ego", 0, 1),)
    assert torch.equal(patches.mask, patches.index != -1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"index": torch.zeros(2, 2)},
            "index must be an int64 or int32 tensor with one row per node "
            "(got torch.float32 [2, 2])",
        ),
        (
            {"score": torch.zeros(2, 3)},
            "score must be a float32 tensor of the shape of index [2, 2] "
            "(got torch.float32 [2, 3])",
        ),
        (
            {"nodes": torch.arange(3)},
            "nodes must be an int64 tensor with 2 entries, one per row (got torch.int64 [3])",
        ),
        (
            {"index": torch.tensor([[0, 7], [1, 0]])},
            "index must be between -1 and 1, the last node (got 0 to 7)",
        ),
        (
            {"index": torch.tensor([[0, -2], [1, 0]])},
            "index must be between -1 and 1, the last node (got -2 to 1)",
        ),
        (
            {"nodes": torch.tensor([0, 2])},
            "nodes must be between 0 and 1, the last node (got 0 to 2)",
        ),
        (
            {"slots": (Slot("a", 0, 1),)},
            "slots must have different names and cover columns 0 to 2 in order and without gaps "
            "(got a 0-1)",
        ),
        (
            {"slots": (Slot("a", 0, 1), Slot("a", 1, 2))},
            "slots must have different names and cover columns 0 to 2 in order and without gaps "
            "(got a 0-1, a 1-2)",
        ),
    ],
)
def test_validation(changes, message):
    good = {"index": torch.tensor([[0, 1], [1, 0]]), "score": torch.ones(2, 2)}
    with pytest.raises(GraphError) as error:
        Patches(**{**good, **changes})
    assert str(error.value) == message


def test_save_and_load(tmp_path):
    patches = Patches.join([some_patches(), some_patches(seed=1)], ["Nähe", "out"])
    patches = patches.take(torch.tensor([4, 2, 29]))
    path = tmp_path / "new folder" / "file.patches"
    patches.save(path)
    assert same(Patches.load(path), patches)
    assert [file.name for file in path.parent.iterdir()] == ["file.patches"]


def test_missing_and_damaged_files(tmp_path):
    path = tmp_path / "patches.npz"
    with pytest.raises(DamagedFileError) as error:
        Patches.load(path)
    assert str(error.value) == (
        f"{path} must be a file of patches, but there is none; write one with Patches.save"
    )
    some_patches().save(path)
    intact = path.read_bytes()
    flipped = bytearray(intact)
    flipped[len(intact) // 3] ^= 255
    for content in (b"", b"text", intact[: len(intact) // 2], bytes(flipped)):
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match="make the patches again") as error:
            Patches.load(path)
        assert "\n" not in str(error.value)
    np.savez(path, index=np.zeros((2, 2), dtype=np.int64))
    with pytest.raises(DamagedFileError, match="KeyError"):
        Patches.load(path)
    np.savez(path, index=np.array([[{}]], dtype=object), slot_names=[], slot_ranges=[])
    with pytest.raises(DamagedFileError, match="ValueError"):
        Patches.load(path)


@pytest.mark.parametrize("ego", [True, False])
def test_homophily_against_a_loop(ego):
    patches = some_patches(ego=ego)
    y = torch.randint(-1, 3, (30,), generator=torch.Generator().manual_seed(5))
    shares = []
    for v, row in zip(patches.nodes.tolist(), patches.index.tolist(), strict=True):
        others = [int(y[u]) for u in row if u not in (-1, v) and y[u] >= 0]
        if others and y[v] >= 0:
            shares.append(sum(label == int(y[v]) for label in others) / len(others))
    assert 0 < len(shares) < 30
    assert patches.homophily(y) == pytest.approx(sum(shares) / len(shares), abs=1e-12)
    assert np.isnan(patches.homophily(torch.full((30,), -1)))
    with pytest.raises(GraphError, match=r"each of the 30 nodes \(got shape \[7\]\)"):
        patches.homophily(y[:7])


def test_induced_graph():
    patches = some_patches(ego=False).take(torch.tensor([3, 8, 29]))
    graph = patches.induced_graph()
    wanted = [
        (v, u, s)
        for v, row, scores in zip(
            patches.nodes.tolist(), patches.index.tolist(), patches.score.tolist(), strict=True
        )
        for u, s in zip(row, scores, strict=True)
        if u not in (-1, v)
    ]
    got = zip(*graph.edge_index.tolist(), graph.edge_weight.tolist(), strict=True)
    assert list(got) == wanted
    assert graph.num_nodes == 30


def test_an_induced_graph_has_no_gradients():
    patcher = PolynomialPatcher(csbm(num_nodes=60, num_classes=3), patch_size=6)
    patches = patcher()
    assert patches.score.requires_grad
    weight = patches.induced_graph().edge_weight
    assert not weight.requires_grad
    assert torch.equal(weight, patches.score.detach()[patches._others()])


@pytest.mark.parametrize("ego", [True, False])
def test_shuffled(ego):
    patches = some_patches(ego=ego)
    shuffled = patches.shuffled(3)
    assert same(shuffled, patches.shuffled(3))
    assert not torch.equal(shuffled.index, patches.shuffled(4).index)
    fixed = ~patches.mask | (patches.index == patches.nodes[:, None])
    assert torch.equal(shuffled.index[fixed], patches.index[fixed])
    moved = (shuffled.index != patches.index).sum() / (~fixed).sum()
    assert moved > 0.5
    pairs = [
        [sorted(zip(*row, strict=True)) for row in zip(p.index.tolist(), p.score.tolist())]  # noqa: B905
        for p in (patches, shuffled)
    ]
    assert pairs[0] == pairs[1]


def test_ranked():
    index = torch.tensor([[0, 1, -1, 2, 3, 4]])
    score = torch.tensor([[0.1, 0.2, 0.0, 0.9, 0.5, 0.5]])
    slots = (Slot("ego", 0, 1), Slot("a", 1, 4), Slot("b", 4, 6))
    ranked = Patches(index, score, slots=slots, num_nodes=5).ranked()
    assert ranked.index.tolist() == [[0, 2, 1, -1, 3, 4]]
    assert ranked.slots == slots
    negative = Patches(torch.tensor([[1, -1, 2]]), torch.tensor([[-2.0, 0, -1]]), num_nodes=3)
    assert negative.ranked().index.tolist() == [[2, 1, -1]]


def test_take_and_slot():
    patches = some_patches()
    some = patches.take(torch.tensor([5, 1]))
    assert some.nodes.tolist() == [5, 1]
    assert torch.equal(some.index, patches.index[[5, 1]])
    mask = torch.zeros(30, dtype=torch.bool)
    mask[[1, 5]] = True
    assert patches.take(mask).nodes.tolist() == [1, 5]
    empty = patches.take(torch.tensor([], dtype=torch.long))
    assert (empty.num_rows, empty.num_nodes, empty.slots) == (0, 30, patches.slots)
    part = patches.slot("patch")
    assert torch.equal(part.index, patches.index[:, 1:])
    assert part.slots == (Slot("patch", 0, 5),)
    with pytest.raises(ConfigError) as error:
        patches.slot("pach")
    assert str(error.value) == (
        "slot must be one of ego, patch (got 'pach') (did you mean 'patch'?)"
    )


def test_join():
    first, second, third = some_patches(), some_patches(seed=1, ego=False), some_patches(seed=2)
    joined = Patches.join([first, second, third], ["out", "in", "both"])
    assert joined.slots == (
        Slot("ego", 0, 1),
        Slot("out", 1, 6),
        Slot("in", 6, 12),
        Slot("both", 12, 17),
    )
    assert torch.equal(joined.slot("in").index, second.index)
    assert torch.equal(joined.slot("both").score, third.score[:, 1:])
    assert torch.equal(joined.slot("ego").index[:, 0], joined.nodes)
    swapped = Patches.join([second, first], ["in", "out"])
    assert swapped.slots == (Slot("in", 0, 6), Slot("out", 6, 11))
    only_ego = Patches.join([first.slot("ego"), second], ["none", "in"])
    assert only_ego.slots == (Slot("ego", 0, 1), Slot("in", 1, 7))


def test_join_refuses():
    first, second = some_patches(), some_patches(seed=1)
    with pytest.raises(ConfigError) as error:
        Patches.join([first, second], ["a", "ego"])
    assert str(error.value) == (
        "names must give each of the 2 parts its own name, other than 'ego' (got 'a', 'ego')"
    )
    with pytest.raises(ConfigError, match="got none"):
        Patches.join([], [])
    with pytest.raises(GraphError) as error:
        Patches.join([first, second.take(torch.arange(29))], ["a", "b"])
    assert str(error.value) == (
        "all parts must hold patches of the same nodes of the same graph ('b' differs from 'a')"
    )
