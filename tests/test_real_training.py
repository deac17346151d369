"""A short training on two real graphs, one heterophilous and one homophilous."""

import os

import pytest

from herofilter.config import Config
from herofilter.data import load_dataset, on_disk
from herofilter.training import train_splits

pytestmark = pytest.mark.skipif(
    not os.environ.get("HEROFILTER_DATA"), reason="HEROFILTER_DATA isn't set"
)


@pytest.mark.parametrize(("name", "least"), [("texas", 0.60), ("cora", 0.75)])
def test_few_epochs_reach_a_sane_accuracy(name: str, least: float) -> None:
    if not on_disk(name):
        pytest.skip("not on disk")
    data = load_dataset(name, split=None)
    summary = train_splits(data, "herofilter", Config().replace(epochs=40), [0], name)
    assert summary["test_accuracy"]["mean"] >= least
