"""Who is compared by a fit: from the most frequent class to HeroFilter with known labels."""

import importlib.util
from dataclasses import dataclass

from torch_geometric.data import Data

from herofilter.nn.build import SUMMARY_LIMIT


@dataclass(frozen=True)
class Contender:
    """One kind of model that a fit trains.

    Args:
        name: short and unique.
        model: a registered model.
        title: what it is called in tables.
        about: what it reads, for people who don't know the field.
        reads_edges: whether it can learn from other nodes.
        share: of the time for first trainings, beside those of the others.
        settings: ``key=value``, what its first training changes and its search keeps.
        searched: whether there is anything to search.
    """

    name: str
    model: str
    title: str
    about: str
    reads_edges: bool
    share: float
    settings: tuple[str, ...] = ()
    searched: bool = True


# from the simple to the complex, which is also from the cheap to the expensive
CONTENDERS = (
    Contender(
        "majority",
        "majority",
        "majority class",
        "the most frequent class, whatever the node",
        False,
        0.2,
        ("epochs=1",),
        False,
    ),
    Contender(
        "booster", "booster", "booster", "boosted trees on own columns", False, 1.5, (), False
    ),
    Contender("mlp", "mlp", "MLP", "a neural network on own columns", False, 1.0),
    Contender(
        "neighbour-booster",
        "neighbour-booster",
        "neighbour booster",
        "boosted trees on own columns, neighbours' means and their known labels",
        True,
        1.5,
        (),
        False,
    ),
    Contender("gcn", "gcn", "GCN", "a neural network that averages neighbours", True, 1.5),
    Contender(
        "herofilter",
        "herofilter",
        "HeroFilter",
        "a mixer over nodes that a filter picks",
        True,
        4.0,
    ),
    Contender(
        "herofilter-labels",
        "herofilter",
        "HeroFilter + labels",
        "HeroFilter that also reads known labels of other nodes",
        True,
        3.0,
    ),
)


INSTALL_BOOSTERS = "pip install 'herofilter[tables]'"


def available(model: str = "auto") -> list[Contender]:
    """Return who takes part: all, or beside the most frequent class only the one that is named.

    Boosters need scikit-learn; where it isn't installed they are left out, unless one is named.
    """
    if model != "auto":
        return [entry for entry in CONTENDERS if entry.name in ("majority", model)]
    boosts = importlib.util.find_spec("sklearn") is not None
    return [entry for entry in CONTENDERS if boosts or not entry.name.endswith("booster")]


def label_settings(data: Data) -> tuple[str, ...]:
    """Return what shows HeroFilter the known labels: of neighbours, or on a large graph of patches.

    Example:
        >>> label_settings(Data(num_nodes=100))
        ('label_shares=true',)
    """
    small = int(data.num_nodes or 0) <= SUMMARY_LIMIT
    return ("label_shares=true",) if small else ("label_tokens=true",)


def fixed_settings(contender: Contender, data: Data, given: tuple[str, ...]) -> list[str]:
    """Return what the search of a contender keeps: what was given comes before all else.

    Known labels are a contender of their own, so that no search of another shows them. Features
    below zero can't be scaled so that a row adds up to one.
    """
    fixed = dict(entry.split("=", 1) for entry in contender.settings)
    if contender.name == "herofilter-labels":
        fixed |= dict(entry.split("=", 1) for entry in label_settings(data))
    fixed = {
        "label_tokens": "false",
        "label_shares": "false",
        "label_smoothing": "0.0",
        **fixed,
    }
    if data.get("x") is not None:
        values = data.x.values() if data.x.is_sparse_csr else data.x
        if bool((values < 0).any()):
            fixed["feature_scaling"] = "auto"
    named = {entry.partition("=")[0].rpartition(".")[2].strip() for entry in given}
    return [*given, *(f"{key}={value}" for key, value in fixed.items() if key not in named)]
