"""How the settings of a trial are suggested: by an Optuna trial, or all at their defaults."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from herofilter.config import Config

Value = str | int | float | bool


class Suggester(Protocol):
    """Where values come from: a trial, or the defaults."""

    def choice(self, name: str, options: Sequence[Value], default: Value) -> Value:
        """Return one of ``options``."""
        ...

    def number(
        self, name: str, low: float, high: float, step: float | None, default: float
    ) -> float:
        """Return a number: on a grid of ``step``, or on a logarithmic scale without one."""
        ...


class TrialSuggester:
    """Let an Optuna trial choose."""

    def __init__(self, trial: Any) -> None:
        self.trial = trial

    def choice(self, name: str, options: Sequence[Value], default: Value) -> Value:
        value: Value = self.trial.suggest_categorical(name, list(options))
        return value

    def number(
        self, name: str, low: float, high: float, step: float | None, default: float
    ) -> float:
        return float(self.trial.suggest_float(name, low, high, step=step, log=step is None))


@dataclass
class DefaultSuggester:
    """Take every default, or what comes closest to it, and note what was taken."""

    taken: dict[str, Value] = field(default_factory=dict)

    def choice(self, name: str, options: Sequence[Value], default: Value) -> Value:
        value = default if default in options else options[-1]
        self.taken[name] = value
        return value

    def number(
        self, name: str, low: float, high: float, step: float | None, default: float
    ) -> float:
        value = min(max(default, low), high)
        if step is not None:
            value = low + step * round((value - low) / step)
        self.taken[name] = value
        return value


class Settings:
    """The settings of one trial, while they are being suggested.

    A fixed setting is never suggested. A default that the options lack is one option more, so that
    the default configuration is in the space.
    """

    def __init__(self, base: Config, fixed: frozenset[str], suggester: Suggester) -> None:
        self.base = {key: plain(value) for key, value in flat(base).items()}
        self.fixed, self.suggester = fixed, suggester
        self.values: dict[str, Value] = {}

    def choice(self, key: str, *options: Value) -> Value:
        """Suggest one of ``options``."""
        default = self.base[key]
        return self.pick(key, options if default in options else (default, *options), default)

    def pick(
        self, key: str, options: Sequence[Value], default: Value, name: str | None = None
    ) -> Value:
        """Suggest one of exactly these options; other options need another ``name``."""
        if key in self.fixed:
            return self.base[key]
        self.values[key] = self.suggester.choice(name or key, options, default)
        return self.values[key]

    def number(self, key: str, low: float, high: float, step: float | None = None) -> None:
        """Suggest a number between ``low`` and ``high``."""
        if key in self.fixed:
            return
        default = float(self.base[key])
        if step is None and default > 0:
            low, high = min(low, default), max(high, default)
        value = self.suggester.number(key, low, high, step, default)
        # three digits are all that a search can tell apart
        self.values[key] = float(f"{value:.3g}")


def flat(config: Config) -> dict[str, Any]:
    """Return all settings of a configuration, each by its key."""
    return {key: value for section in config.to_dict().values() for key, value in section.items()}


def plain(value: Any) -> Value:
    """Return a setting as one value: a list of names becomes a text."""
    plain: Value = ",".join(value) if isinstance(value, (list, tuple)) else value
    return plain
