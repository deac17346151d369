"""The files of the Planetoid citation graphs, which are pickles."""

from herofilter.data.datasets.geom_gcn import split_files
from herofilter.data.datasets.storage import RawFile
from herofilter.data.datasets.sums import known_sums

_URL = "https://github.com/kimiyoung/planetoid/raw/master/data"
_MIRROR = "https://github.com/tkipf/gcn/raw/master/gcn/data"
_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


def planetoid_files(name: str, split: str) -> tuple[RawFile, ...]:
    """Return the files of Cora, CiteSeer or PubMed for the ``public`` or ``geom-gcn`` split.

    Nothing is unpickled unless it has the SHA-256 of the list.
    """
    folder = f"{name}/raw" if split == "public" else f"{name}/geom-gcn/raw"
    pickles = []
    for part in _PARTS:
        file = f"ind.{name.lower()}.{part}"
        path = f"{folder}/{file}"
        mirrors = (f"{_MIRROR}/{file}",)
        pickles.append(RawFile(path, f"{_URL}/{file}", known_sums()[path], mirrors, pickled=True))
    splits = () if split == "public" else split_files(folder, name.lower())
    return (*pickles, *splits)
