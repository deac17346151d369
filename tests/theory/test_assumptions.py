import torch

from herofilter.theory import Assumption, Checked
from herofilter.theory.assumptions import value_range


def test_only_what_fails_is_named() -> None:
    good, bad = Assumption("a", True, "1"), Assumption("b", False, "2")
    assert Checked((good,)).assumptions_hold
    assert Checked((good,)).failed == ()
    assert not Checked((good, bad)).assumptions_hold
    assert Checked((good, bad)).failed == ("b (got 2)",)


def test_a_range_of_nothing_has_words() -> None:
    assert value_range(torch.zeros(0)) == "no values"
