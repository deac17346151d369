"""Which features belong to which column of the user's table, and what a node has in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from herofilter.data.tables.column_kinds import Boolean, Category, Numeric
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.list_kinds import Items
from herofilter.data.tables.number_text import SPELLINGS, DateSpelling

MISSING = "missing"
_MOST_ITEMS = 5
# features are float32, so a moment is known to some seconds or minutes only
_STEP = 600
# a number this large may be a date, in seconds since 1970
_LIKE_DATES = 1e8


@dataclass(frozen=True)
class ColumnRange:
    """A column of the table as a range of features, ``start`` to ``stop``.

    Args:
        name: what the table calls it.
        start, stop: its features, such as one per category and one for gaps.
    """

    name: str
    start: int
    stop: int

    @property
    def width(self) -> int:
        """The number of its features."""
        return self.stop - self.start


def column_ranges(encoder: FeatureEncoder | None, num_features: int) -> tuple[ColumnRange, ...]:
    """Return the columns that features were made of, in the order of the features.

    Features that no encoder made, as of a benchmark graph, are columns of their own.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [20, 40, None], "country": ["DE", "FR", "DE"]})
        >>> encoder = FeatureEncoder.fit(table, ["age", "country"])
        >>> [(each.name, each.start, each.stop) for each in column_ranges(encoder, 4)]
        [('age', 0, 2), ('country', 2, 4)]
        >>> [each.name for each in column_ranges(None, 2)]
        ['feature 0', 'feature 1']
    """
    if encoder is not None and encoder.columns:
        widths = [(column.name, len(column.names)) for column in encoder.columns]
    elif encoder is not None and encoder.degrees is not None:
        widths = [(name, 1) for name in encoder.names]
    else:
        widths = [(f"feature {number}", 1) for number in range(num_features)]
    ranges, start = [], 0
    for name, width in widths:
        ranges.append(ColumnRange(name, start, start + width))
        start += width
    return tuple(ranges)


def cell_text(encoder: FeatureEncoder | None, name: str, features: np.ndarray) -> str | None:
    """Return what a node has in a column, read back from its features; None if that can't be told.

    Args:
        encoder: what made the features.
        name: of the column.
        features: those of the column at one node.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [20, 40, None], "country": ["DE", "FR", "DE"]})
        >>> encoder = FeatureEncoder.fit(table, ["age", "country"])
        >>> cell_text(encoder, "age", np.array([1.0, 0.0]))
        '40'
        >>> cell_text(encoder, "country", np.array([0.0, 1.0]))
        'FR'
    """
    columns = () if encoder is None else encoder.columns
    column = next((each for each in columns if each.name == name), None)
    if encoder is None or column is None:
        return None
    if isinstance(column, (Numeric, Boolean)) and column.missing and features[1] > 0:
        return MISSING
    if isinstance(column, Boolean):
        return "true" if features[0] > 0 else "false"
    if isinstance(column, Numeric):
        return _number(column, float(features[0]), dict(encoder.spelt).get(name, ""))
    if isinstance(column, Category):
        called = (*column.values, *["another value"] * column.rest, *[MISSING] * column.missing)
        return _listed(called, features) or "a value unknown in training"
    if isinstance(column, Items):
        called = tuple(each.removeprefix(f"{name} has ") for each in column.names)
        return _listed(called, features) or "none"
    return None


def _number(column: Numeric, feature: float, spelt: str) -> str | None:
    value = column.mean + column.std * feature
    if isinstance(SPELLINGS.get(spelt), DateSpelling):
        moment = np.datetime64(round(value / _STEP) * _STEP, "s")
        return str(moment.astype("datetime64[D]"))
    return f"{value:.4g}" if abs(column.mean) < _LIKE_DATES else None


def _listed(called: Sequence[str], features: np.ndarray) -> str:
    found = [called[number] for number in np.flatnonzero(features).tolist()]
    more = [f"{len(found) - _MOST_ITEMS} more"] * (len(found) > _MOST_ITEMS)
    return ", ".join([*found[:_MOST_ITEMS], *more])
