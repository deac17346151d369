"""A warning about a table or a result: what was found, where, and what to do about it."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_NAMED = 5


@dataclass(frozen=True)
class FitWarning:
    """What a user should know before trusting a model.

    Args:
        kind: a short name that programs can compare, such as ``id-column``.
        sentence: what was found, with its numbers.
        cure: what can be done about it.
        where: what it is about: columns, classes, nodes, split or scores.

    Example:
        >>> print(FitWarning("imbalance", "90 % are 'no'", "try --class-weights", "classes"))
        90 % are 'no'; try --class-weights
    """

    kind: str
    sentence: str
    cure: str
    where: str

    def __str__(self) -> str:
        return f"{self.sentence}; {self.cure}"

    def to_dict(self) -> dict[str, str]:
        """Return plain values, ready for JSON."""
        return dataclasses.asdict(self)


def percent(share: float) -> str:
    """Return a share in percent with one decimal, such as ``12.5 %``."""
    return f"{100 * share:.1f} %"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words, of which five are named.

    Example:
        >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefg"))
        ('a', 'a, b and c', 'a, b, c, d, e and 2 more')
    """
    shown = list(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown.append(f"{len(names) - _MOST_NAMED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
