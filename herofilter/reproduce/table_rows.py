"""The rows of the tables: every model, with what only it searches."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from herofilter.config import Config, paper_config
from herofilter.nn import find_model, list_models
from herofilter.nn.naming import model_title
from herofilter.reproduce.paper_tables import paper_models
from herofilter.reproduce.table_graphs import GraphPlan
from herofilter.reproduce.trials import PROTOCOL, Plan
from herofilter.training.search.space import PAPER_PATCH_SIZES, changed_settings
from herofilter.training.search.suggest import Value

MORE = ("linkx", "sgformer", "polynormer", "res-gcn", "res-graphsage", "res-gat", "dir-gnn")
# beyond so many nodes Algorithm 1 keeps the ends of the spectrum only
ALL_EIGENPAIRS_UP_TO = 6000
NUM_EIGENPAIRS = 500

# whatever is chosen has patches of five nodes and a mixer, so that it may be called HeroFilter
_FAST: dict[str, tuple[Value, ...]] = {
    "patch_size": (9, 17, 33),
    "num_layers": (1, 2),
    "aggregation": ("weighted", "slot_concat", "flatten"),
    "label_shares": (False, True),
}
_HERO = {**_FAST, "filter_starts": ("low,hop2", "hop2", "low,hop2,high")}


@dataclass(frozen=True)
class Row:
    """One row of a table: a model, and settings that only this row has.

    Args:
        name: of the row; a model's for most.
        model: a registered model.
        base: what differs from the protocol.
        large: what differs further on graphs of more than 6000 nodes.
        options: the model's own settings to search; None takes those of the registry.
        ranked: whether the row takes part in the ranking.
        note: what tells it from other rows of the same model.
    """

    name: str
    model: str
    base: Mapping[str, Value] = field(default_factory=dict)
    large: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, tuple[Value, ...]] | None = None
    ranked: bool = True
    note: str = ""

    @property
    def title(self) -> str:
        """What the row is, see :func:`~herofilter.nn.naming.model_title`."""
        config = Config().replace(**{**PROTOCOL, **self.base})
        return model_title(self.model, config) + (f", {self.note}" if self.note else "")

    def needs_directions(self) -> bool:
        """Whether the row makes no sense on a graph without directions."""
        return self.base.get("directed") == "keep"

    def plan(self, graph: GraphPlan, seed: int = 0) -> Plan:
        """Return the row's trials on a graph; ``seed`` is the sampler's."""
        options = find_model(self.model).options if self.options is None else self.options
        base = {**PROTOCOL, **self.base}
        if graph.num_nodes > ALL_EIGENPAIRS_UP_TO:
            base.update(self.large)
        if graph.metric != "accuracy":
            base["monitor"] = graph.metric
        return Plan(base, options, seed)


def _baseline(name: str) -> Row:
    if name == "dir-gnn":
        return Row(name, name, {"directed": "keep"}, ranked=False)
    return Row(name, name)


def _hero(options: Mapping[str, tuple[Value, ...]], model: str) -> Row:
    # a stem and one mixer block are HeroFilter's two layers
    return Row(model, model, {"num_layers": 1, "directed": "symmetrise"}, options=options)


def _directed() -> Row:
    # room for several nodes in each of the slots that directions add
    base: dict[str, Value] = {"num_layers": 1, "directed": "keep", "patch_size": 17}
    base["aggregation"] = "flatten"
    name = "herofilter-directed"
    return Row(name, "herofilter", base, options=_HERO, ranked=False, note="directed")


def _algorithm_1() -> Row:
    # its tokens are raw features: larger patches of its grid don't fit where these are wide
    base = {**changed_settings(paper_config()), "patcher": "spectral"}
    return Row(
        "herofilter-algorithm-1",
        "herofilter",
        base,
        {"num_eigenpairs": NUM_EIGENPAIRS},
        {"patch_size": PAPER_PATCH_SIZES[:2]},
        note="Algorithm 1 to the letter",
    )


def _rows() -> list[Row]:
    known = {entry.name for entry in list_models()}
    baselines = [name for name in (*paper_models(), *MORE) if name != "herofilter"]
    return [
        *(_baseline(name) for name in baselines if name in known),
        _hero(_FAST, "fast-herofilter"),
        _algorithm_1(),
        _hero(_HERO, "herofilter"),
        _directed(),
    ]


ROWS: dict[str, Row] = {row.name: row for row in _rows()}
