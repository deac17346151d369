"""The graphs of the studies by name: datasets, their named splits, and synthetic ones."""

from functools import lru_cache

from torch_geometric.data import Data

from herofilter.data import csbm, load_dataset, on_disk
from herofilter.data.datasets.registry import REGISTRY
from herofilter.data.synthetic.power_law import power_law_graph
from herofilter.errors import check_choice

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_BLOCKS, _PAIR, _POWER_LAW = "blocks", "two-blocks", "power-law"
_CLASSES = 4
_SIGNAL = 2.0
_SPLITS = 10
_SEPARATOR = ":"


def blocks(heterophily: float, num_nodes: int = 500, seed: int = 0) -> str:
    """Return the name of a synthetic graph: four classes on a ring, as in the demo.

    Example:
        >>> blocks(0.3)
        'blocks:0.3:500:0'
    """
    return _SEPARATOR.join((_BLOCKS, f"{heterophily:g}", str(num_nodes), str(seed)))


def two_blocks(heterophily: float, num_nodes: int = 500, seed: int = 0) -> str:
    """Return the name of a synthetic graph with two classes.

    Example:
        >>> two_blocks(0.3)
        'two-blocks:0.3:500:0'
    """
    return _SEPARATOR.join((_PAIR, f"{heterophily:g}", str(num_nodes), str(seed)))


def power_law(nodes: int, edges: int) -> str:
    """Return the name of a synthetic graph with degrees by a power law.

    Example:
        >>> power_law(1000, 4780)
        'power-law:1000:4780'
    """
    return _SEPARATOR.join((_POWER_LAW, str(nodes), str(edges)))


def dataset_of(name: str) -> str | None:
    """Return the dataset behind a graph's name; None for a synthetic one.

    Example:
        >>> dataset_of("cora:public"), dataset_of("texas"), dataset_of("blocks:0.3:500:0")
        ('cora', 'texas', None)
    """
    first = name.partition(_SEPARATOR)[0]
    return None if first in (_BLOCKS, _PAIR, _POWER_LAW) else first


def is_there(name: str) -> bool:
    """Return whether a graph can be had without a download."""
    dataset = dataset_of(name)
    return dataset is None or on_disk(dataset)


def graph_variant(name: str) -> str:
    """Return in words which version of a graph it is."""
    first, _, rest = name.partition(_SEPARATOR)
    if first == _BLOCKS:
        return f"csbm cyclic, {_CLASSES} classes, signal {_SIGNAL:g}, random 48/32/20"
    if first == _PAIR:
        return f"csbm, 2 classes, signal {_SIGNAL:g}, random 48/32/20"
    if first == _POWER_LAW:
        return "power-law degrees, five classes, 64 features"
    check_choice("a graph", first, REGISTRY)
    return REGISTRY[first].named[rest].variant if rest else REGISTRY[first].variant


def study_graph(name: str) -> Data:
    """Return a graph with masks of all its splits, ``[n, splits]``.

    Args:
        name: a dataset, a dataset and the name of a split (``cora:public``), or what
            :func:`blocks`, :func:`two_blocks` or :func:`power_law` gives.

    Example:
        >>> study_graph(blocks(0.9, num_nodes=60)).train_mask.shape
        torch.Size([60, 10])
    """
    first, _, rest = name.partition(_SEPARATOR)
    if first in (_BLOCKS, _PAIR):
        level, num_nodes, seed = rest.split(_SEPARATOR)
        return csbm(
            num_nodes=int(num_nodes),
            num_classes=_CLASSES if first == _BLOCKS else 2,
            heterophily=float(level),
            compatibility="cyclic" if first == _BLOCKS else "uniform",
            feature_signal=_SIGNAL,
            seed=int(seed),
            num_splits=_SPLITS,
        )
    if first == _POWER_LAW:
        nodes, edges = map(int, rest.split(_SEPARATOR))
        return power_law_graph(nodes, edges)
    if not rest:
        return load_dataset(first, split=None)
    data = load_dataset(first, split=rest)
    for mask in ("train_mask", "val_mask", "test_mask"):
        data[mask] = data[mask].unsqueeze(1)
    return data


@lru_cache(maxsize=9)
def kept_graph(name: str) -> Data:
    """Return :func:`study_graph`, kept for the next task of the same process."""
    return study_graph(name)
