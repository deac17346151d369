"""The assumptions of a statement: which hold, and what was got where one fails."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Assumption:
    """One assumption of a statement.

    Args:
        statement: what must hold.
        holds: whether it does.
        got: the values that decide it.
    """

    statement: str
    holds: bool
    got: str


@dataclass(frozen=True)
class Checked:
    """Base of results that say whether the assumptions of a statement hold.

    Example:
        >>> Checked((Assumption("every |ĥᵢ| ≤ 1", False, "at most 11.7"),)).failed
        ('every |ĥᵢ| ≤ 1 (got at most 11.7)',)
    """

    assumptions: tuple[Assumption, ...]

    @property
    def assumptions_hold(self) -> bool:
        """Whether all assumptions hold."""
        return all(each.holds for each in self.assumptions)

    @property
    def failed(self) -> tuple[str, ...]:
        """The assumptions that fail, each with what was got."""
        return tuple(
            f"{each.statement} (got {each.got})" for each in self.assumptions if not each.holds
        )


def value_range(values: Tensor) -> str:
    """Return the smallest and the largest value as text.

    Example:
        >>> import torch
        >>> value_range(torch.tensor([0.25, -1.0]))
        '-1 to 0.25'
    """
    if not values.numel():
        return "no values"
    return f"{float(values.min()):.4g} to {float(values.max()):.4g}"
