"""Numbers and dates as text files spell them: 1234.5, 1,234.5, 1.234,5, 2020-12-31, 31/12/2020."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = r"(?:0|[1-9]\d{0,2}(?:MARK\d{3})*)"
_SPACE = r"[ \x{00A0}\x{2009}\x{202F}]"
_TIME = r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?)?"
_ZONE = r"(?P<zone>Z|[+-]\d{2}:?\d{2})?"
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class NumberSpelling:
    """A way to write numbers: what stands between thousands and what before the fraction.

    Example:
        >>> NUMBERS["1.234,5"].read(pa.chunked_array([["1.234,5", "7", "x"]])).to_pylist()
        [1234.5, 7.0, None]
    """

    noun: ClassVar[str] = "number"
    name: str
    pattern: str
    between: str = ""
    decimal: str = "."

    def read(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return floats, missing where a cell isn't spelt so."""
        fits = pc.match_substring_regex(column, self.pattern)
        digits = pc.replace_substring_regex(column, self.between, "") if self.between else column
        digits = pc.replace_substring(digits, self.decimal, ".")
        return pc.if_else(fits, digits, None).cast(pa.float64())


@dataclass(frozen=True)
class DateSpelling:
    """An order of day, month and year, perhaps followed by a time of day.

    Example:
        >>> DATES["d/m/y"].read(pa.chunked_array([["3/4/2020", "31/2/2020"]])).to_pylist()
        [datetime.datetime(2020, 4, 3, 0, 0), None]
    """

    noun: ClassVar[str] = "date"
    name: str
    pattern: str
    order: str

    def read(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return times in microseconds, missing where a cell isn't a day of the calendar."""
        pieces = [self._read(piece) for piece in column.chunks]
        return pa.chunked_array(pieces, pa.timestamp("us"))

    def _read(self, piece: pa.Array) -> pa.Array:
        found = pc.extract_regex(piece, self.pattern)
        there = found.is_valid().to_numpy(zero_copy_only=False)
        names = {field.name for field in found.type}

        def part(name: str, kind: type = np.int64) -> np.ndarray:
            if name not in names:
                return np.zeros(len(piece), kind)
            text = pc.fill_null(pc.struct_field(found, name), "")
            digits = pc.if_else(pc.equal(text, ""), "0", text)
            values: np.ndarray = digits.to_numpy(zero_copy_only=False).astype(kind)
            return values

        month, day, hour, minute = map(part, ("month", "day", "hour", "minute"))
        second = part("second", np.float64)
        start = (12 * (part("year") - 1970) + month - 1).astype("datetime64[M]")
        first, after = (
            each.astype("datetime64[D]").astype(np.int64) for each in (start, start + 1)
        )
        fits = there & (month >= 1) & (month <= 12) & (day >= 1) & (day <= after - first)
        fits &= (hour < 24) & (minute < 60) & (second < 60)
        minutes = ((first + day - 1) * 24 + hour) * 60 + minute - self._zone(found, names)
        moment = 60 * _MICROSECONDS * minutes + np.rint(_MICROSECONDS * second).astype(np.int64)
        return pa.array(moment, mask=~fits).cast(pa.timestamp("us"))

    @staticmethod
    def _zone(found: pa.StructArray, names: set[str]) -> np.ndarray | int:
        """Return by how many minutes each local time is ahead of UTC."""
        if "zone" not in names:
            return 0
        text = pc.fill_null(pc.struct_field(found, "zone"), "")
        text = pc.replace_substring(text, ":", "")
        signed = pc.if_else(pc.is_in(text, value_set=pa.array(["", "Z"])), "+0000", text)
        number = signed.to_numpy(zero_copy_only=False).astype(np.int64)
        minutes: np.ndarray = np.sign(number) * (np.abs(number) // 100 * 60 + np.abs(number) % 100)
        return minutes


Spelling = NumberSpelling | DateSpelling


def _grouped(name: str, between: str, decimal: str) -> NumberSpelling:
    digits = _DIGITS.replace("MARK", between)
    return NumberSpelling(name, rf"^[+-]?{digits}(?:[{decimal}]\d+)?$", between, decimal)


PLAIN = NumberSpelling("1234.5", r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")
COMMA = NumberSpelling("1234,5", r"^[+-]?\d+(?:,\d+)?$", decimal=",")
ISO = DateSpelling("y-m-d", rf"^{_YEAR}-{_MONTH}-{_DAY}{_TIME}{_ZONE}$", "year-month-day")
NUMBERS: dict[str, NumberSpelling] = {
    spelling.name: spelling
    for spelling in (
        PLAIN,
        _grouped("1,234.5", ",", "."),
        COMMA,
        _grouped("1.234,5", r"\.", ","),
        _grouped("1 234.5", _SPACE, "."),
        _grouped("1 234,5", _SPACE, ","),
    )
}
DATES: dict[str, DateSpelling] = {
    spelling.name: spelling
    for spelling in (
        ISO,
        DateSpelling("d/m/y", rf"^{_DAY}[/.-]{_MONTH}[/.-]{_YEAR}{_TIME}$", "day/month/year"),
        DateSpelling("m/d/y", rf"^{_MONTH}[/-]{_DAY}[/-]{_YEAR}{_TIME}$", "month/day/year"),
    )
}
SPELLINGS: dict[str, Spelling] = {**NUMBERS, **DATES}
