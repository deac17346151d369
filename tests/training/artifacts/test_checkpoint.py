import dataclasses
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import dropout
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.errors import RunError
from herofilter.files import load_tensors, save_tensors
from herofilter.nn import NodeClassifier, find_model, list_models
from herofilter.settings import TrainConfig
from herofilter.training import TrainResult, prepare, seeded, train
from herofilter.training.artifacts import checkpoint
from herofilter.training.artifacts.checkpoint import Checkpoint, CheckpointWarning
from tests.training.graphs import SMALL, Linear, copies, graph, linear, one_split

OWNER = {"graph": "small", "config": SMALL.to_dict(), "split": "0"}
MODELS = [entry.name for entry in list_models() if entry.gradients]
Outcome = tuple[TrainResult, dict[str, Tensor]]


class Killed(BaseException):
    """Nothing in the library may catch it."""


class Mortal(Checkpoint):
    """A checkpoint after whose n-th offer the training dies."""

    def __init__(self, path: Path, lives: int, **options: Any) -> None:
        super().__init__(path, OWNER, **{"every": 0.0, **options})
        self.lives = lives

    def offer(self) -> None:
        super().offer()
        self.lives -= 1
        if self.lives == 0:
            raise Killed


def build(data: Data, config: Config, name: str = "herofilter") -> NodeClassifier:
    with seeded(0):
        return find_model(name).build(data, config)


def run(
    data: Data, config: Config, kept: Checkpoint | None = None, name: str = "herofilter"
) -> Outcome:
    model = build(data, config, name)
    torch.rand(2)  # the caller's random state must not matter
    return train(model, data, config.train, checkpoint=kept), copies(model)


def die_after(path: Path, lives: int, data: Data, config: Config, name: str = "herofilter") -> bool:
    """Train until death; return whether training was finished before."""
    try:
        run(data, config, Mortal(path, lives), name)
    except Killed:
        return False
    return True


def same(one: Outcome, other: Outcome) -> bool:
    results = [dataclasses.replace(outcome[0], seconds=0.0, report={}) for outcome in (one, other)]
    assert one[1].keys() == other[1].keys()
    return results[0] == results[1] and all(
        torch.equal(value, other[1][key]) for key, value in one[1].items()
    )


def prepared(config: Config, name: str = "herofilter", num_features: int = 8) -> Data:
    made = csbm(60, 3, average_degree=4, num_features=num_features, seed=2)
    return select_split(prepare(made, config, name), 0)


# with these the first epochs are the best ones
FORMER: dict[str, Any] = {
    "weight_decay": 5e-3,
    "feature_scaling": "none",
    "feature_expansion": 1.0,
    "drop_path": 0.0,
}
SHORT = SMALL.replace(epochs=4, hidden_channels=4, refresh_every=2, filter_lr=0.3)


# the same to the bit


@pytest.mark.parametrize(
    ("settings", "num_features", "offers"),
    [
        # each epoch offers once per step and once at its end
        pytest.param({"patcher": "spectral"}, 8, 8, id="all at once"),
        pytest.param({"patcher": "spectral", "batch_size": 12}, 8, 16, id="batches"),
        pytest.param({"patcher": "polynomial", "batch_size": 12}, 8, 16, id="polynomial"),
        pytest.param(
            {"patcher": "fast", "summary": False, "batch_size": 12, "label_tokens": True},
            0,
            16,
            id="rows",
        ),
        pytest.param(
            {"patcher": "spectral", "lr": 0.5, "patience": 1, "epochs": 30, **FORMER},
            8,
            8,
            id="patience",
        ),
    ],
)
def test_death_at_any_step_changes_nothing(
    tmp_path: Path, settings: dict[str, Any], num_features: int, offers: int
) -> None:
    config = SHORT.replace(**settings)
    data = prepared(config, num_features=num_features)
    whole = run(data, config)
    for lives in range(1, offers + 1):
        path = tmp_path / f"{lives}.safetensors"
        assert not die_after(path, lives, data, config)
        assert same(run(data, config, Checkpoint(path, OWNER)), whole), lives
    assert die_after(tmp_path / "none", offers + 1, data, config)


def test_death_after_death_changes_nothing(tmp_path: Path) -> None:
    config, path = SHORT.replace(batch_size=12), tmp_path / "c.safetensors"
    data, deaths = prepared(config), 0
    while not die_after(path, 1 + deaths % 2, data, config):
        deaths += 1
    assert deaths > 8
    # what is read last is the end of training, before its scores
    assert same(run(data, config, Checkpoint(path, OWNER)), run(data, config))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_goes_on(tmp_path: Path, name: str) -> None:
    config = SHORT.replace(batch_size=12 if find_model(name).batches else 0, epochs=3)
    data, path = prepared(config, name), tmp_path / "c.safetensors"
    assert not die_after(path, 3, data, config, name)
    assert same(run(data, config, Checkpoint(path, OWNER), name), run(data, config, None, name))


class Other(Linear):
    """A model that draws from torch's own random numbers, as layers of other libraries do."""

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        return dropout(super().forward(data, nodes), 0.5, self.training)


def other(data: Data, config: TrainConfig, kept: Checkpoint | None = None) -> Outcome:
    with seeded(0):
        model = Other(8)
    return train(model, data, config, checkpoint=kept), copies(model)


def test_draws_of_other_libraries_go_on(tmp_path: Path) -> None:
    path, config = tmp_path / "c.safetensors", SHORT.replace(batch_size=12).train
    data = prepared(SHORT)
    whole = other(data, config)
    with pytest.raises(Killed):
        other(data, config, Mortal(path, 6))
    assert same(other(data, config, Checkpoint(path, OWNER)), whole)
    change(path, {"random.torch": OTHER_DRAWS})
    assert not same(other(data, config, Checkpoint(path, OWNER)), whole)


OTHER_DRAWS = torch.Generator().manual_seed(99).get_state()


def change(path: Path, new: dict[str, Tensor], without: str = "nothing") -> None:
    tensors, metadata = load_tensors(path)
    kept = {key: value for key, value in tensors.items() if not key.startswith(without)}
    assert new or len(kept) < len(tensors)
    save_tensors(path, {**kept, **new}, metadata)


@pytest.mark.parametrize("part", ["optimizer.0", "optimizer.1", "random.own", "random.order"])
def test_every_part_of_the_file_matters(tmp_path: Path, part: str) -> None:
    config = SHORT.replace(patcher="fast", summary=False, batch_size=12)
    data, path = prepared(config, num_features=0), tmp_path / "c.safetensors"
    # in the middle of the second epoch
    assert not die_after(path, 6, data, config)
    if part.startswith("random."):
        change(path, {part: OTHER_DRAWS})
    else:
        change(path, {}, without=part)
    assert not same(run(data, config, Checkpoint(path, OWNER)), run(data, config))


def test_the_best_state_of_an_earlier_go_is_kept(tmp_path: Path) -> None:
    # the wrong way round, so that the first epoch is the best one
    data, path = prepared(SHORT), tmp_path / "c.safetensors"
    data.y[data.val_mask] = (data.y[data.val_mask] + 1) % 3
    config = SHORT.replace(lr=0.1, monitor="loss", **FORMER)
    whole = run(data, config)
    assert whole[0].best_epoch < 2
    assert not die_after(path, 6, data, config)
    tensors, _ = load_tensors(path)
    assert same(run(data, config, Checkpoint(path, OWNER)), whole)
    change(path, {"best.head.layers.0.bias": tensors["best.head.layers.0.bias"] + 1})
    assert not same(run(data, config, Checkpoint(path, OWNER)), whole)


def test_seconds_add_up(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    data = prepared(SHORT)
    die_after(path, 3, data, SHORT)
    tensors, metadata = load_tensors(path)
    numbers = json.loads(metadata["numbers"])
    assert 0 < numbers["seconds"] < 60
    numbers["seconds"] += 1000
    save_tensors(path, tensors, {**metadata, "numbers": json.dumps(numbers)})
    kept = Checkpoint(path, OWNER, every=0.0)
    result, _ = run(data, SHORT, kept)
    assert kept.earlier == numbers["seconds"]
    assert 1000 < result.seconds < 1100
    again = json.loads(load_tensors(path)[1]["numbers"])
    assert again["seconds"] > numbers["seconds"]


# when it is written


def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(checkpoint.time, "perf_counter", lambda: now[0])
    return now


def started(path: Path, every: float) -> tuple[Checkpoint, list[float]]:
    written: list[float] = []

    class Noted(Checkpoint):
        def _write(self, now: float) -> None:
            written.append(now)

    kept = Noted(path, OWNER, every)
    kept.start(None, one_split())  # type: ignore[arg-type]
    return kept, written


def test_it_is_written_every_so_many_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock(monkeypatch)
    kept, written = started(tmp_path / "c", 30.0)
    for _ in range(100):
        now[0] += 1
        kept.offer()
    assert written == [130.0, 160.0, 190.0]


def test_slow_writing_makes_it_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock(monkeypatch)
    kept, written = started(tmp_path / "c", 30.0)
    note = kept._write

    def slowly(start: float) -> None:
        note(start)
        now[0] += 5

    monkeypatch.setattr(kept, "_write", slowly)
    for _ in range(200):
        now[0] += 1
        kept.offer()
    # twenty times five seconds lie between them
    assert written == [130.0, 235.0]


def test_short_trainings_write_nothing(tmp_path: Path) -> None:
    told: list[int] = []
    kept = Checkpoint(tmp_path / "c", OWNER, announce=lambda: told.append(1))
    train(linear(), one_split(), TrainConfig(epochs=3), checkpoint=kept)
    assert list(tmp_path.iterdir()) == told == []


def test_the_first_writing_is_announced(tmp_path: Path) -> None:
    told: list[bool] = []
    path = tmp_path / "c"
    kept = Checkpoint(path, OWNER, 0.0, announce=lambda: told.append(path.exists()))
    train(linear(), one_split(), TrainConfig(epochs=3), checkpoint=kept)
    assert told == [False]


def test_a_full_disk_does_not_end_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    path = tmp_path / "file" / "c.safetensors"
    with pytest.warns(CheckpointWarning) as caught:
        result = train(
            linear(), one_split(), TrainConfig(epochs=2), checkpoint=Checkpoint(path, OWNER, 0.0)
        )
    assert len(result.history) == 2
    text = str(caught[0].message)
    assert text.startswith(f"the checkpoint {path} couldn't be written (")
    assert text.endswith("); training goes on without it")


# what can't be taken up


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 255
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def rewrite(change: Callable[[dict[str, Tensor], dict[str, str]], Any]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        tensors, metadata = load_tensors(path)
        change(tensors, metadata)
        save_tensors(path, tensors, metadata)

    return damage


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut, "it is damaged"),
        (flip, "it is damaged"),
        (empty, "it is damaged"),
        (
            rewrite(lambda tensors, metadata: metadata.update(format="0")),
            "it doesn't fit: it was written by another version",
        ),
        (
            rewrite(lambda tensors, metadata: tensors.pop("model.head.layers.0.bias")),
            "it doesn't fit: other tensors for head.layers.0.bias",
        ),
        (
            rewrite(lambda tensors, metadata: metadata.pop("numbers")),
            "it doesn't fit: 'numbers'",
        ),
    ],
)
def test_a_damaged_file_means_a_new_beginning(
    tmp_path: Path, damage: Callable[[Path], None], why: str
) -> None:
    config, path = SHORT.replace(batch_size=12), tmp_path / "c.safetensors"
    data = prepared(config)
    die_after(path, 7, data, config)
    damage(path)
    with pytest.warns(CheckpointWarning) as caught:
        outcome = run(data, config, Checkpoint(path, OWNER))
    assert [str(entry.message) for entry in caught] == [
        f"the checkpoint {path} can't be used ({why}); training begins anew"
    ]
    assert same(outcome, run(data, config))


@pytest.mark.parametrize(
    ("owner", "other"),
    [
        ({**OWNER, "split": "1"}, "another split"),
        ({**OWNER, "graph": "big", "config": {}}, "another graph, another config"),
    ],
)
def test_a_file_of_another_training_is_refused(
    tmp_path: Path, owner: dict[str, Any], other: str
) -> None:
    path = tmp_path / "c.safetensors"
    data = prepared(SHORT)
    die_after(path, 3, data, SHORT)
    before = path.read_bytes()
    with pytest.raises(RunError) as caught:
        run(data, SHORT, Checkpoint(path, owner, 0.0))
    assert str(caught.value) == (
        f"{path} must belong to this training to be continued (got {other}); "
        "give another --out, or delete it to begin anew"
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["x", "y", "edge_index"])
def test_a_file_of_another_graph_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "c.safetensors"
    data = prepared(SHORT)
    die_after(path, 3, data, SHORT)
    changed = data.clone()
    changed[name] = changed[name].roll(1, -1)
    with pytest.raises(RunError, match=r"\(got another content of the graph\)"):
        run(changed, SHORT, Checkpoint(path, OWNER))


def test_a_good_file_gives_no_warning(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    data = select_split(prepare(graph(), SHORT), 0)
    die_after(path, 3, data, SHORT)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)
        checkpoint = Checkpoint(path, OWNER)
        run(data, SHORT, checkpoint)
    # it was taken up and not passed over in silence
    assert checkpoint.earlier > 0
