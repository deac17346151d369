"""What tuning may change: the paper's grid, or a wide space that fits the graph."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch_geometric.data import Data

from herofilter.config import Config, paper_config
from herofilter.data import is_directed
from herofilter.errors import ConfigError, check_choice
from herofilter.nn import find_model
from herofilter.nn.build import choose_patcher
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.training.search.suggest import (
    DefaultSuggester,
    Settings,
    Suggester,
    Value,
    flat,
    plain,
)

SPACES = ("wide", "paper")
PATCHED = ("herofilter", "fast-herofilter")
# what has no learned filter, no patch or no mixer isn't HeroFilter, so no search leaves these
PATCH_SIZES = (5, 9, 17, 33)
STARTS = ("low", "hop2", "aligned", "low,hop2", "low,hop2,high", "low,hop2,aligned")
SPECTRAL_STARTS = ("low", "hop2", "high", "low,hop2", "low,high", "low,hop2,high")
DIRECTED = ("out", "out,in", "coreference,cocitation", "out,in,coreference,cocitation")
UNDIRECTED = ("out", "out,cocitation")
POLYNOMIAL = ("adaptive", "shared")
PAPER_LR = (0.01, 0.008, 0.005, 0.003, 0.001)
PAPER_PATCH_SIZES = (8, 16, 32, 64, 96)
PAPER_ORDERS = (10, 50, 100, 150, 200)

# settings that did well on graphs of different kinds: a search tries them before it suggests others
RECIPES: tuple[dict[str, Value], ...] = (
    {"directed": "symmetrise", "filter_starts": "low", "weight_decay": 5e-3},
    {"directed": "keep", "patch_size": 17, "aggregation": "flatten", "score_norm": "max"},
    {"directed": "symmetrise", "filter_starts": "hop2", "aggregation": "flatten"},
    {"directed": "keep", "patch_size": 17, "filter_starts": "aligned", "label_tokens": True},
    {"aggregation": "weighted", "norm": "patch", "weight_decay": 1e-2},
    {"patch_size": 17, "feature_scaling": "rows", "dropout": 0.6},
)


@dataclass(frozen=True)
class SearchSpace:
    """The configurations that a search may try for one graph and model.

    Args:
        name: ``wide`` or ``paper``.
        model: a registered model.
        data: the graph.
        base: what every configuration starts from, fixed settings included.
        fixed: keys that aren't searched.
        directed: whether some edge of the graph lacks its reverse.
    """

    name: str
    model: str
    data: Data
    base: Config
    fixed: frozenset[str]
    directed: bool

    def suggest(self, suggester: Suggester) -> dict[str, Value]:
        """Return the suggested settings of one configuration."""
        settings = Settings(self.base, self.fixed, suggester)
        if self.name == "paper":
            for key, options in self._paper().items():
                settings.choice(key, *options)
            return settings.values
        if self.model in PATCHED:
            self._suggest_patches(settings)
            _suggest_mixer(settings)
        else:
            own = find_model(self.model).options
            if "depth" not in own:
                settings.choice("num_layers", 1, 2, 3)
            _suggest_widths(settings)
            for key, options in own.items():
                settings.choice(key, *options)
        _suggest_training(settings)
        if self.data.get("x") is not None:
            settings.choice("feature_scaling", "none", "rows")
        return settings.values

    def config(self, values: dict[str, Value]) -> Config:
        """Return the configuration with these suggested settings."""
        return self.base.replace(**values)

    def first(self) -> dict[str, Value]:
        """Return, by the names of suggestions, what gives the default configuration."""
        suggester = DefaultSuggester()
        self.suggest(suggester)
        return suggester.taken

    def starts(self) -> list[dict[str, Value]]:
        """Return, by the names of suggestions, the default and the recipes as far as they fit."""
        found = [self.first()]
        for recipe in RECIPES:
            # what a baseline or a graph lacks isn't suggested, so it does no harm here
            taken = self.fixed if self.model in PATCHED else {*self.fixed, "num_layers"}
            free = {key: value for key, value in recipe.items() if key not in taken}
            start = replace(self, base=self.base.replace(**free)).first()
            if start not in found:
                found.append(start)
        return found

    def grid(self) -> list[dict[str, Value]] | None:
        """Return all points of a space that can be listed, the default first; else None."""
        first = self.first()
        if self.name != "paper":
            return None if first else [{}]
        options = {key: some for key, some in self._paper().items() if key not in self.fixed}
        points = [
            dict(zip(options, point, strict=True)) for point in itertools.product(*options.values())
        ]
        return sorted(points, key=lambda point: point != first)

    def _paper(self) -> dict[str, tuple[Value, ...]]:
        options: dict[str, tuple[Value, ...]] = {"lr": PAPER_LR}
        if self.model in PATCHED:
            n = int(self.data.num_nodes or 0)
            sizes = tuple(size for size in PAPER_PATCH_SIZES if size <= n)
            options["patch_size"] = sizes or (n,)
            if self._patcher() == "spectral":
                options["filter_order"] = PAPER_ORDERS
        # a default beyond the grid, of a graph or a version to come, is a point of it as well
        base = flat(self.base)
        return {
            key: some if base[key] in some or key == "patch_size" else (base[key], *some)
            for key, some in options.items()
        }

    def _patcher(self) -> str:
        if self.model == "fast-herofilter":
            return "fast"
        return choose_patcher(self.data, self.base)

    def _suggest_patches(self, settings: Settings) -> None:
        base = self.base.patcher
        directed, patcher = base.directed, self._patcher()
        # with directions the spectral patcher takes polynomials of powers only
        if self.directed and (patcher != "spectral" or base.filter in POLYNOMIAL):
            directed = str(settings.choice("directed", "symmetrise", "keep"))
        keeps = self.directed and directed == "keep"
        parts = 0
        if keeps:
            parts += _count(settings.choice("relations", *DIRECTED))
        elif patcher == "fast":
            default = "out,cocitation" if "cocitation" in base.relations else "out"
            relations = settings.pick("relations", UNDIRECTED, default, name="relations_undirected")
            parts += _count(relations)
        if patcher == "polynomial":
            parts += _count(settings.choice("filter_starts", *STARTS))
            settings.choice("filter_order", 5, 10)
        elif patcher == "spectral":
            parts += self._suggest_spectral(settings, keeps)
        else:
            settings.choice("c", 0.2, 0.5, 0.8)
        settings.choice("self_loops", True, False)
        self._suggest_patch_size(settings, 1 + parts)

    def _suggest_spectral(self, settings: Settings, keeps: bool) -> int:
        """Suggest what the spectral patcher alone reads; return how many parts a patch has more."""
        parts = 1
        if self.base.patcher.filter in POLYNOMIAL:
            settings.choice("filter_order", 4, 10, 20)
            settings.choice("activation", "tanh", "identity", "softsign")
            # with directions a relation decides where its filter starts
            if not keeps:
                parts = _count(settings.choice("filter_starts", *SPECTRAL_STARTS))
        signed = settings.choice("selection", "top", "signed") == "signed"
        settings.choice("filter_lr", 0.0, 1e-4, 1e-3)
        return parts * (2 if signed else 1) - (1 if keeps else 0)

    def _suggest_patch_size(self, settings: Settings, least: int) -> None:
        """Suggest a patch that the graph can fill, and in which every part has room."""
        n, default = int(self.data.num_nodes or 0), self.base.patcher.patch_size
        sizes = [size for size in sorted({*PATCH_SIZES, default}) if size <= n] or [n]
        options = [size for size in sizes if size >= least] or sizes[-1:]
        # Optuna wants the same options wherever a name is used
        name = "patch_size" if options == sizes else f"patch_size_of_{len(options)}"
        near = max((size for size in options if size <= default), default=options[0])
        settings.pick("patch_size", options, near, name=name)


def make_space(name: str, model: str, data: Data, fixed: Sequence[str] = ()) -> SearchSpace:
    """Return the space for a graph and a model, without the settings that ``fixed`` names.

    Example:
        >>> from herofilter.data import csbm
        >>> space = make_space("paper", "herofilter", csbm(num_nodes=100), ["lr=0.01"])
        >>> len(space.grid()), space.grid()[0]
        (25, {'patch_size': 16, 'filter_order': 10})
    """
    check_choice("space", name, SPACES)
    base = (paper_config() if name == "paper" else Config()).with_settings(fixed)
    keys = frozenset(setting.partition("=")[0].rpartition(".")[2].strip() for setting in fixed)
    if "seed" in keys:
        raise ConfigError("seed must not be a fixed setting of a search; give --seed instead")
    base = resolve_defaults(data, base)
    return SearchSpace(name, model, data, base, keys, is_directed(data))


def changed_settings(config: Config, default: Config | None = None) -> dict[str, Any]:
    """Return the settings, seed aside, that differ from the default ones.

    Example:
        >>> changed_settings(Config().replace(lr=0.005, seed=3))
        {'lr': 0.005}
    """
    usual = flat(default or Config())
    return {
        key: plain(value)
        for key, value in flat(config).items()
        if value != usual[key] and key != "seed"
    }


def _suggest_mixer(settings: Settings) -> None:
    settings.choice("aggregation", "slot_concat", "ego_concat", "weighted", "flatten", "sum")
    settings.choice("score_norm", "max", "l1")
    settings.choice("label_tokens", False, True)
    settings.choice("label_shares", False, True)
    settings.choice("head_layers", 1, 2)
    settings.choice("num_layers", 1, 2)
    settings.choice("norm", "feature", "patch")
    settings.choice("drop_path", 0.0, 0.5)
    _suggest_widths(settings)


def _suggest_widths(settings: Settings) -> None:
    settings.choice("hidden_channels", 32, 64, 128)
    settings.number("dropout", 0.2, 0.7, 0.1)
    settings.number("input_dropout", 0.0, 0.7, 0.1)


def _suggest_training(settings: Settings) -> None:
    settings.number("lr", 2e-3, 2e-2)
    settings.number("weight_decay", 1e-4, 3e-2)
    settings.choice("label_smoothing", 0.0, 0.1)
    settings.choice("monitor", "accuracy", "loss")


def _count(names: Value) -> int:
    return len(str(names).split(","))
