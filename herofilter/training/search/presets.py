"""Presets: named configurations, packaged for the benchmark graphs or written by tuning."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

from herofilter.config import Config, from_earlier, paper_config
from herofilter.data import is_graph_path
from herofilter.errors import ConfigError, HeroFilterError, did_you_mean
from herofilter.files import parse_yaml, read_yaml, write_text

GENERAL = ("default", "paper")


def graph_name(graph: str) -> str:
    """Return a graph's name for the record: that of a file or folder, else the name itself.

    Example:
        >>> graph_name("data/mine.npz"), graph_name("texas")
        ('mine', 'texas')
    """
    if graph.endswith(".npz"):
        return Path(graph).stem
    return Path(graph).resolve().name if is_graph_path(graph) else graph


def preset_config(graph: str, preset: str) -> tuple[str | None, Config]:
    """Return the model and the configuration that a preset stands for.

    Args:
        graph: the graph to train on.
        preset: ``default``, ``paper``, a packaged preset of the graph such as ``tuned``, or the
            path of a ``.yaml`` file that tuning wrote.

    Returns:
        The model is None where the preset goes with any.

    Example:
        >>> preset_config("karate", "default") == (None, Config())
        True
    """
    if preset == "default":
        return None, Config()
    if preset == "paper":
        return None, paper_config()
    if preset.endswith((".yaml", ".yml")):
        return read_preset(Path(preset))
    return load_preset(graph, preset)


def preset_run(graph: str, preset: str, model: str | None) -> tuple[str, Config]:
    """Return the model and the configuration for a preset and the model asked for, if any."""
    required, config = preset_config(graph, preset)
    if model is not None and required is not None and model != required:
        raise ConfigError(
            f"model must be {required} with the preset {preset} (got {model}); leave --model out"
        )
    # a mistake in the preset is told before torch is loaded
    from herofilter.nn import find_model

    return find_model(model or required or "herofilter").name, config


def choose_run(
    graph: str,
    preset: str | None = None,
    model: str | None = None,
    ensemble: bool = False,
    settled: bool = False,
) -> tuple[str, Config]:
    """Return the model, ``auto`` included, and the configuration that a user asks for.

    The user's graph gets ``auto`` when no model is given; a named dataset, for which there are
    published results, the default configuration of HeroFilter.

    Args:
        graph: a dataset's name, or the path of a graph.
        preset: as for :func:`preset_config`, if any.
        model: a registered model or ``auto``, if any.
        ensemble: whether the members of ``auto`` are averaged.
        settled: whether other settings were given, which are meant for one model.

    Example:
        >>> choose_run("mine.npz")[0], choose_run("mine.npz", settled=True)[0]
        ('auto', 'herofilter')
    """
    free = is_graph_path(graph) and not settled
    if model is None and preset is None and (free or ensemble):
        model = "auto"
    if ensemble and model != "auto":
        raise ConfigError(
            "ensemble must go with the model auto, whose members it averages "
            f"(got {model or 'a preset'}); give --model auto"
        )
    if model != "auto":
        return preset_run(graph, preset or "default", model)
    if preset not in (None, "default"):
        raise ConfigError(
            f"preset must be left out with the model auto, which brings its own (got {preset})"
        )
    return "auto", Config()


def load_preset(graph: str, name: str) -> tuple[str, Config]:
    """Return the model and the configuration of a packaged preset."""
    file = _packaged(graph_name(graph))
    entries = _entries(file) if file.is_file() else {}
    if name in entries:
        return _parse(_followed(entries, name), str(file), name)
    known = [*GENERAL, *entries]
    hint = did_you_mean(name, known)
    cure = (
        f"herofilter tune {graph} makes one, and the path of its preset.yaml is accepted too"
        if entries
        else f"{graph} has no presets of its own yet: herofilter tune {graph} makes one, "
        "and the path of its preset.yaml is accepted"
    )
    raise ConfigError(f"preset must be one of {', '.join(known)} (got {name!r}){hint}; {cure}")


def list_presets(graph: str) -> list[str]:
    """Return the names of the presets that are packaged for a graph."""
    file = _packaged(graph_name(graph))
    return list(_entries(file)) if file.is_file() else []


def read_preset(path: Path) -> tuple[str, Config]:
    """Return the model and the configuration in a file that :func:`write_preset` wrote."""
    if not path.is_file():
        raise ConfigError(
            f"{path} must be an existing file with a preset; "
            "check the path, or make one with herofilter tune"
        )
    entries = _entries(path)
    if len(entries) != 1:
        raise ConfigError(
            f"{path} must hold one preset to be given as a path (got {', '.join(entries)}); "
            "give the preset's name instead"
        )
    ((name, entry),) = entries.items()
    return _parse(entry, str(path), name)


def write_preset(
    path: Path, graph: str, name: str, model: str, config: Config, study: dict[str, Any]
) -> None:
    """Write one preset: all of the configuration but the seed, and the search it came from."""
    settings = config.to_dict()
    # the seed is the run's, and all else is kept, so that no later default changes a preset
    del settings["train"]["seed"]
    entry = {"model": model, "config": settings, "study": study}
    content = {"graph": graph, "presets": {name: entry}}
    write_text(path, yaml.safe_dump(content, sort_keys=False, width=100))


def merge_preset(source: Path, target: Path) -> None:
    """Put the preset that tuning wrote to ``source`` into a file of several presets of a graph.

    An entry of the same name is replaced, and the others stay; the file is made when absent. Where
    there are entries such as ``tuned-fast``, ``tuned`` stands for the one whose search reached the
    highest validation accuracy.
    """
    graph, entries = _graph_of(source), _entries(source)
    if target.exists():
        if _graph_of(target) != graph:
            raise ConfigError(
                f"{target} must hold presets of {graph} (got {_graph_of(target)}); "
                "give the file of the same graph"
            )
        entries = {**_entries(target), **entries}
    kinds = [name for name in entries if name.startswith("tuned-")]
    if kinds:
        best = max(kinds, key=lambda name: float(entries[name]["study"]["val_accuracy"]))
        entries = {"tuned": {"same": best}, **{k: v for k, v in entries.items() if k != "tuned"}}
    content = {"graph": graph, "presets": entries}
    write_text(target, yaml.safe_dump(content, sort_keys=False, width=100))


def _graph_of(path: Path) -> str:
    content = read_yaml(path)
    return str(content.get("graph", "")) if isinstance(content, dict) else ""


def _packaged(graph: str) -> Traversable:
    return files("herofilter") / "presets" / f"{graph}.yaml"


def _entries(file: Traversable | Path) -> dict[str, Any]:
    try:
        content = parse_yaml(file.read_text(encoding="utf-8"))
        entries = content["presets"]
        if not isinstance(entries, dict) or not entries:
            raise TypeError("no presets")
        return entries
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise _damaged(str(file), type(error.__cause__ or error).__name__) from error


def _followed(entries: dict[str, Any], name: str) -> Any:
    """Return an entry, or the one that it names as the same."""
    entry = entries[name]
    same = entry.get("same") if isinstance(entry, dict) else None
    return entry if same is None else entries.get(str(same))


def _parse(entry: Any, file: str, name: str) -> tuple[str, Config]:
    try:
        config = Config.from_dict(from_earlier(entry["config"]))
        if config.train.seed != Config().train.seed or not isinstance(entry["model"], str):
            raise TypeError("a preset names a model and no seed")
        return entry["model"], config
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(file, f"preset {name}: {type(error).__name__}") from error
    except HeroFilterError as error:
        raise _damaged(file, f"preset {name}: {error}") from error


def _damaged(file: str, why: str) -> ConfigError:
    return ConfigError(
        f"{file} must hold presets as herofilter tune writes them ({why}); make it anew"
    )
