"""The table of nodes: the columns that are needed, and which is which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from herofilter.data.tables.column_spelling import read_spelt
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.read_table import OpenTable
from herofilter.data.tables.table_columns import TableColumns, find_column, find_features, find_id
from herofilter.errors import ConfigError


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The nodes as far as they are needed; without a table they are made from the edges.

    Args:
        table: ids, label, split and features; None without a table.
        ids: the column of ids.
        label, split: what these columns are called, if there are any.
        features: the columns to learn from.
        spelt: how numbers are spelt in those that don't write them as 1234.5.
        text: whether the table came from a text file.
        notes: what was assumed, one sentence each.
    """

    table: pa.Table | None = None
    ids: pa.ChunkedArray | None = None
    label: str | None = None
    split: str | None = None
    features: Sequence[str] = ()
    spelt: Mapping[str, str] = field(default_factory=dict)
    text: bool = False
    notes: Sequence[str] = ()

    @classmethod
    def read(
        cls, file: OpenTable | None, columns: TableColumns, encoder: FeatureEncoder | None
    ) -> "NodeTable":
        """Read the columns that are needed: for an encoder that is given, the ones it knows."""
        if file is None:
            return cls(notes=["there is no table of nodes: they were made from the edges"])
        names = file.names
        id_name, notes = find_id(names, columns.id)
        label, split = (
            name and find_column(names, name, "nodes") for name in (columns.label, columns.split)
        )
        roles = [name for name in (id_name, label, split) if name]
        if len(set(roles)) < len(roles):
            raise ConfigError(
                "id, label and split must be different columns "
                f"(got {', '.join(map(repr, roles))}); name them with id_column, label and split"
            )
        spelt: Mapping[str, str] = {}
        if encoder is None:
            chosen, more = find_features(names, columns.features, roles)
            table = file.read([*roles, *chosen], text=roles)
            file.check_rows(table)
            # in other files the type of a column is its owner's word
            if file.is_text:
                table, spelt, said = read_spelt(table, chosen, file.has_semicolons)
                more = [*more, *said]
        else:
            chosen = [column.name for column in encoder.columns]
            table, more = read_known(file, encoder, roles)
        return cls(
            table, table[id_name], label, split, chosen, spelt, file.is_text, [*notes, *more]
        )


def read_known(
    file: OpenTable, encoder: FeatureEncoder, roles: Sequence[str]
) -> tuple[pa.Table, list[str]]:
    """Return the columns ``roles`` as text and those of an encoder, read as in training; notes."""
    encoder.check_columns(file.names)
    names = [*roles, *(column.name for column in encoder.columns)]
    table = file.read(names, text=[*roles, *encoder.text_columns])
    file.check_rows(table)
    return encoder.read_numbers(table, file.has_semicolons)
