"""The settings of a run: frozen, checked, and saved with every result."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from herofilter.errors import ConfigError, did_you_mean
from herofilter.files import DamagedFileError, parse_yaml
from herofilter.settings import BaselineConfig, ModelConfig, PatcherConfig, TrainConfig


@dataclass(frozen=True)
class Config:
    """All settings of a run.

    Example:
        >>> Config().with_settings(["patch_size=8", "train.lr=0.005"]).patcher.patch_size
        8
        >>> Config().with_settings(["dropout=auto"]).model.dropout is None
        True
    """

    patcher: PatcherConfig = field(default_factory=PatcherConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    baseline: BaselineConfig = field(default_factory=BaselineConfig)

    def replace(self, **values: Any) -> "Config":
        """Return a copy with some settings changed, each named by its own key."""
        sections: dict[str, dict[str, Any]] = {section.name: {} for section in fields(self)}
        for key, value in values.items():
            section, name = _locate(key)
            kind = get_type_hints(type(getattr(self, section)))[name]
            sections[section][name] = _convert(key, value, kind)
        return Config(
            **{
                name: dataclasses.replace(getattr(self, name), **changes)
                for name, changes in sections.items()
            }
        )

    def with_settings(self, settings: Sequence[str]) -> "Config":
        """Return a copy changed by ``key=value`` texts; a key may carry its section."""
        values: dict[str, Any] = {}
        for setting in settings:
            key, equals, text = setting.partition("=")
            if not equals:
                raise ConfigError(f"a setting must look like key=value (got {setting!r})")
            try:
                values[key.strip()] = parse_yaml(text) if text.strip() else ""
            except DamagedFileError:
                values[key.strip()] = text
        return self.replace(**values)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the settings as plain dictionaries, ready for YAML or JSON."""
        return {
            section: {key: _plain(value) for key, value in values.items()}
            for section, values in dataclasses.asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Mapping[str, Any]]) -> "Config":
        """Return the settings that :meth:`to_dict` gave; what is absent keeps its default."""
        flat: dict[str, Any] = {}
        for section, entries in values.items():
            if section not in _SECTIONS:
                hint = did_you_mean(section, _SECTIONS)
                raise ConfigError(f"a section must be one of {', '.join(_SECTIONS)}{hint}")
            if not isinstance(entries, Mapping):
                raise ConfigError(f"section {section} must hold settings (got {entries!r})")
            flat.update({f"{section}.{key}": value for key, value in entries.items()})
        return cls().replace(**flat)


def from_earlier(saved: Any) -> Any:
    """Return settings that an earlier version saved, as this one would have saved them.

    Settings that no longer exist are left out, one that was split gives both its value, and one
    that came later has the value that is without effect. Only for files: a user who gives a
    setting that doesn't exist is told so.

    Example:
        >>> from_earlier({"patcher": {"patch_size": 8, "resolved": False}})
        {'patcher': {'patch_size': 8}}
    """
    if isinstance(saved, Mapping):
        known = {key: from_earlier(value) for key, value in saved.items() if key not in _RETIRED}
        added = {new: known[old] for new, old in _SPLIT.items() if old in known}
        for mark, values in _SINCE.items():
            added |= values if mark in known else {}
        return {**added, **known}
    return [from_earlier(entry) for entry in saved] if isinstance(saved, list) else saved


def paper_config() -> Config:
    """Return the literal setting of Algorithm 1: raw features, no residuals, sum, loss."""
    return Config().replace(
        patcher="spectral",
        patch_size=16,
        ego="ranked",
        filter_starts=("low",),
        self_loops=True,
        directed="symmetrise",
        relations=("out",),
        aggregation="sum",
        score_norm="straight_through",
        summary=False,
        residual=False,
        stem=False,
        num_layers=2,
        head_layers=2,
        dropout=0.5,
        input_dropout=0.5,
        drop_path=0.0,
        weight_decay=5e-4,
        feature_expansion=1.0,
        filter_lr=1e-3,
        patience=50,
        monitor="loss",
        feature_scaling="none",
    )


_RETIRED = ("resolved",)
_SPLIT = {"feature_expansion": "expansion"}
# a section of an earlier version that has the first of these had this value of the second
_SINCE: dict[str, dict[str, Any]] = {
    "residual": {"drop_path": 0.0},
    "refresh_every": {"device": "cpu"},
}
_AUTO = "auto"
_SECTIONS = {
    "patcher": PatcherConfig,
    "model": ModelConfig,
    "train": TrainConfig,
    "baseline": BaselineConfig,
}


def _locate(key: str) -> tuple[str, str]:
    section, dot, name = key.rpartition(".")
    for candidate, kind in _SECTIONS.items():
        known = [entry.name for entry in fields(kind)]
        if (not dot or section == candidate) and (name if dot else key) in known:
            return candidate, name if dot else key
    names = [entry.name for kind in _SECTIONS.values() for entry in fields(kind)]
    raise ConfigError(f"there is no setting {key!r}{did_you_mean(name or key, names)}")


def _plain(value: Any) -> Any:
    if value is None:
        return _AUTO
    return list(value) if isinstance(value, tuple) else value


def _convert(key: str, value: Any, kind: Any) -> Any:
    if isinstance(kind, UnionType):
        # the graph decides
        return None if value in (None, _AUTO) else _convert(key, value, get_args(kind)[0])
    if get_origin(kind) is tuple:
        entry = get_args(kind)[0]
        entries = value.split(",") if isinstance(value, str) else value
        if not isinstance(entries, (list, tuple)):
            raise ConfigError(f"{key} must be a list such as low,hop2 (got {value!r})")
        return tuple(_convert(key, e.strip() if isinstance(e, str) else e, entry) for e in entries)
    if kind is float and isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            return float(value)
        except ValueError:
            pass
    elif type(value) is kind:
        return value
    raise ConfigError(f"{key} must be of type {kind.__name__} (got {value!r})")
