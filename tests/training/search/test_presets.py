"""Presets by name and by path, and what is said when there is none."""

from pathlib import Path

import pytest
import yaml

import herofilter
from herofilter.config import Config, paper_config
from herofilter.errors import ConfigError
from herofilter.training.search import presets
from herofilter.training.search.presets import (
    choose_run,
    graph_name,
    list_presets,
    load_preset,
    merge_preset,
    preset_config,
    preset_run,
    read_preset,
    write_preset,
)

CHOSEN = Config().replace(patch_size=8, lr=0.003, filter_starts=("high",), seed=7)
PACKAGED = sorted((Path(herofilter.__file__).parent / "presets").glob("*.yaml"))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "preset.yaml"
    write_preset(path, "mine", "tuned", "mlp", CHOSEN, {"trials": 3})
    return path


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take packaged presets from a folder of the test's own."""
    monkeypatch.setattr(presets, "_packaged", lambda graph: tmp_path / f"{graph}.yaml")
    return tmp_path


def test_what_is_written_is_read(written: Path) -> None:
    assert read_preset(written) == ("mlp", CHOSEN.replace(seed=0))
    assert preset_config("any", str(written)) == read_preset(written)


def test_a_preset_is_complete_but_has_no_seed(written: Path) -> None:
    content = yaml.safe_load(written.read_text())
    entry = content["presets"]["tuned"]
    expected = CHOSEN.to_dict()
    del expected["train"]["seed"]
    assert content["graph"] == "mine"
    assert entry == {"model": "mlp", "config": expected, "study": {"trials": 3}}


def test_general_presets() -> None:
    assert preset_config("karate", "default") == (None, Config())
    assert preset_config("karate", "paper") == (None, paper_config())


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.stem)
def test_packaged_presets_are_whole(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["graph"] == path.stem
    assert path.stem in {info.name for info in herofilter.list_datasets()}
    for name in list_presets(path.stem):
        model, config = load_preset(path.stem, name)
        assert herofilter.find_model(model).name == model
        stored = yaml.safe_load(path.read_text())["presets"][name]
        if "same" in stored:
            assert (model, config) == load_preset(path.stem, stored["same"])
            continue
        assert "seed" not in stored["config"]["train"]
        assert stored["study"]["command"].startswith(f"herofilter tune {path.stem}")
        assert isinstance(config, Config)


def test_there_is_a_packaged_preset() -> None:
    assert "tuned" in list_presets("texas")
    assert list_presets("nowhere") == []


def test_packaged_by_name(shelf: Path, written: Path) -> None:
    written.rename(shelf / "mine.yaml")
    for graph in ("mine", "some/folder/mine.npz"):
        assert load_preset(graph, "tuned") == ("mlp", CHOSEN.replace(seed=0))
    with pytest.raises(ConfigError) as caught:
        preset_config("mine", "tuned-fsat")
    assert str(caught.value) == (
        "preset must be one of default, paper, tuned (got 'tuned-fsat') (did you mean 'tuned'?); "
        "herofilter tune mine makes one, and the path of its preset.yaml is accepted too"
    )


def test_an_entry_that_is_the_same_as_another(shelf: Path, written: Path) -> None:
    content = yaml.safe_load(written.read_text())
    content["presets"]["tuned-fast"] = {"same": "tuned"}
    (shelf / "mine.yaml").write_text(yaml.safe_dump(content))
    assert load_preset("mine", "tuned-fast") == ("mlp", CHOSEN.replace(seed=0))
    assert list_presets("mine") == ["tuned", "tuned-fast"]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("{same: other}", "TypeError"),
        ("{same: [tuned]}", "TypeError"),
        # an entry that is itself only a reference
        ("{same: alias}", "KeyError"),
    ],
)
def test_the_same_as_nothing(shelf: Path, written: Path, entry: str, why: str) -> None:
    content = yaml.safe_load(written.read_text())
    content["presets"]["alias"] = {"same": "tuned"}
    content["presets"]["broken"] = yaml.safe_load(entry)
    path = shelf / "mine.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError) as caught:
        load_preset("mine", "broken")
    assert str(caught.value) == (
        f"{path} must hold presets as herofilter tune writes them (preset broken: {why}); "
        "make it anew"
    )


def test_a_graph_without_presets(shelf: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        preset_config("data/mine.npz", "tuned")
    assert str(caught.value) == (
        "preset must be one of default, paper (got 'tuned'); data/mine.npz has no presets of its "
        "own yet: herofilter tune data/mine.npz makes one, and the path of its preset.yaml is "
        "accepted"
    )


def test_the_model_of_a_preset(written: Path) -> None:
    assert preset_run("any", str(written), None)[0] == "mlp"
    assert preset_run("any", str(written), "mlp")[0] == "mlp"
    assert preset_run("any", "default", None)[0] == "herofilter"
    assert preset_run("any", "paper", "gcn")[0] == "gcn"
    with pytest.raises(ConfigError) as caught:
        preset_run("any", str(written), "gcn")
    assert str(caught.value) == (
        f"model must be mlp with the preset {written} (got gcn); leave --model out"
    )
    with pytest.raises(ConfigError, match="did you mean 'gcn'"):
        preset_run("any", "default", "gcm")


def test_what_is_run_when_little_is_said(written: Path) -> None:
    assert choose_run("texas") == ("herofilter", Config())
    assert choose_run("mine.npz") == ("auto", Config())
    # whoever sets something means one model
    assert choose_run("mine.npz", settled=True) == ("herofilter", Config())
    assert choose_run("mine.npz", "default") == ("herofilter", Config())
    assert choose_run("mine.npz", "paper") == ("herofilter", paper_config())
    assert choose_run("mine.npz", model="gcn") == ("gcn", Config())
    assert choose_run("mine.npz", str(written)) == ("mlp", CHOSEN.replace(seed=0))
    for settled in (False, True):
        assert choose_run("texas", model="auto", settled=settled) == ("auto", Config())
        assert choose_run("texas", "default", "auto", settled=settled) == ("auto", Config())
        for model in (None, "auto"):
            assert choose_run("texas", None, model, True, settled) == ("auto", Config())


@pytest.mark.parametrize(
    ("preset", "model", "ensemble", "text"),
    [
        (
            None,
            "gcn",
            True,
            "ensemble must go with the model auto, whose members it averages (got gcn); "
            "give --model auto",
        ),
        (
            "paper",
            None,
            True,
            "ensemble must go with the model auto, whose members it averages (got a preset); "
            "give --model auto",
        ),
        (
            "paper",
            "auto",
            False,
            "preset must be left out with the model auto, which brings its own (got paper)",
        ),
        (
            "tuned",
            "auto",
            True,
            "preset must be left out with the model auto, which brings its own (got tuned)",
        ),
    ],
)
def test_what_does_not_go_together(
    preset: str | None, model: str | None, ensemble: bool, text: str
) -> None:
    for graph in ("texas", "mine.npz"):
        with pytest.raises(ConfigError) as caught:
            choose_run(graph, preset, model, ensemble)
        assert str(caught.value) == text


def test_the_errors_of_one_model_are_passed_on(written: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        choose_run("mine.npz", str(written), "gcn")
    assert str(caught.value) == (
        f"model must be mlp with the preset {written} (got gcn); leave --model out"
    )
    with pytest.raises(ConfigError, match=r"\(got 'gcm'\) \(did you mean 'gcn'\?\)"):
        choose_run("mine.npz", model="gcm")


def test_a_missing_file() -> None:
    with pytest.raises(ConfigError) as caught:
        preset_config("texas", "none.yaml")
    assert str(caught.value) == (
        "none.yaml must be an existing file with a preset; "
        "check the path, or make one with herofilter tune"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "TypeError"),
        ("[", "ParserError"),
        ("graph: mine", "KeyError"),
        ("presets: {}", "TypeError"),
        ("presets: {a: 3}", "preset a: TypeError"),
        ("presets: {a: {model: mlp}}", "preset a: KeyError"),
        ("presets: {a: {model: 3, config: {}}}", "preset a: TypeError"),
        ("presets: {a: {model: mlp, config: {train: {seed: 3}}}}", "preset a: TypeError"),
        (
            "presets: {a: {model: mlp, config: {train: {lrr: 3}}}}",
            "preset a: there is no setting 'train.lrr' (did you mean 'lr'?)",
        ),
    ],
)
def test_a_damaged_file(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "preset.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_preset(path)
    assert str(caught.value) == (
        f"{path} must hold presets as herofilter tune writes them ({why}); make it anew"
    )


def test_a_file_of_several_presets(written: Path) -> None:
    content = yaml.safe_load(written.read_text())
    content["presets"]["tuned-fast"] = content["presets"]["tuned"]
    written.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=r"one preset to be given as a path \(got tuned, tuned-f"):
        read_preset(written)


def test_graph_names() -> None:
    assert graph_name("texas") == "texas"
    assert graph_name("/data/my.graph.npz") == "my.graph"


def test_presets_are_merged_into_one_file(tmp_path: Path) -> None:
    target = tmp_path / "all.yaml"
    for name, lr in (("tuned-fast", 0.1), ("tuned-directed", 0.2), ("tuned-fast", 0.3)):
        source = tmp_path / f"{name}.yaml"
        study = {"val_accuracy": 1 - lr}
        write_preset(source, "mine", name, "herofilter", Config().replace(lr=lr), study)
        merge_preset(source, target)
    entries = yaml.safe_load(target.read_text())["presets"]
    # the first search for tuned-fast was better, but the third took its place
    assert entries.pop("tuned") == {"same": "tuned-directed"}
    assert {name: entry["config"]["train"]["lr"] for name, entry in entries.items()} == {
        "tuned-fast": 0.3,
        "tuned-directed": 0.2,
    }
    other = tmp_path / "other.yaml"
    write_preset(other, "another", "tuned", "herofilter", Config(), {"trials": 1})
    with pytest.raises(ConfigError) as caught:
        merge_preset(other, target)
    assert str(caught.value) == (
        f"{target} must hold presets of another (got mine); give the file of the same graph"
    )
