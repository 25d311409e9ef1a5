"""Gold of a join: combinations are replaced by the slice that brought one of their tuples, in one commit.

Results may be many times what they were made of, so they are streamed from staging into the table, and held in memory
only to be compared with rows that were there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable

from panelake import tables
from panelake.gold import END, REVISION, SLICE, same_rows, with_revisions
from panelake.slices import format_instant, to_datetime

_INSTANT = tables.timestamp_type()
_AT_ONCE = 65_536


def join_schema(columns: pa.Schema, aliases: Sequence[str]) -> pa.Schema:
    """The table's columns around the query's own."""
    numbers = [(number_column(alias), pa.int64()) for alias in aliases]
    return pa.schema([*columns, (END, _INSTANT), (SLICE, _INSTANT), *numbers, (REVISION, pa.int64())])


def number_column(alias: str) -> str:
    """The column that says which tuple of a stream is in a combination."""
    return f"_seq_{alias}"


@dataclass(frozen=True)
class Owned:
    """The rows that a slice's results take the place of.

    Either those with a tuple among the numbers, by alias ranges [first, end), and those with a number that no tuple
    has any more, outside `known`; or, where the slices are given, those that belong to them.
    """

    numbers: Mapping[str, Sequence[Sequence[int]]]
    known: Mapping[str, Sequence[int]]
    slices: Sequence[int] | None = None

    def _ranges(self) -> list[tuple[str, int | None, int | None]]:
        """(alias, first or None, end or None): number >= first and number < end."""
        ranges: list[tuple[str, int | None, int | None]] = [
            (alias, first, end) for alias, given in self.numbers.items() for first, end in given
        ]
        for alias, (first, end) in self.known.items():
            ranges += [(alias, None, first), (alias, end, None)]
        return ranges

    def sql(self) -> str:
        """As a condition, formatted from integers and aliases, which are identifiers."""
        if self.slices is not None:
            return " OR ".join(f"{SLICE} = '{format_instant(start)}'" for start in self.slices)
        parts = []
        for alias, first, end in self._ranges():
            bounds = [] if first is None else [f"{number_column(alias)} >= {first}"]
            bounds += [] if end is None else [f"{number_column(alias)} < {end}"]
            parts.append(f"({' AND '.join(bounds)})")
        return " OR ".join(parts)

    def filter(self) -> pc.Expression:
        """The same for an Arrow dataset."""
        if self.slices is not None:
            return pc.field(SLICE).isin(pa.array([to_datetime(start) for start in self.slices], _INSTANT))
        return reduce(or_, (_between(number_column(alias), first, end) for alias, first, end in self._ranges()))


def _between(column: str, first: int | None, end: int | None) -> pc.Expression:
    if first is None:
        return pc.field(column) < end
    return pc.field(column) >= first if end is None else (pc.field(column) >= first) & (pc.field(column) < end)


def replace_combinations(address: str, staged: ds.Dataset | None, schema: pa.Schema, owned: Owned) -> int:
    """Put the staged results in place of the rows they own; give how many are there then.

    The commit is lost, and tried again from what is there then, if anybody else committed since the table was read.
    """
    tables.create(address, schema)

    def commit() -> int:
        table = DeltaTable(address)
        rows = tables.dataset(table)
        if not owned.sql():
            return 0
        if rows.count_rows(filter=owned.filter()) == 0:
            if staged is not None and staged.count_rows():
                tables.overwrite(table, _fresh(staged, schema), owned.sql())
        else:
            _revise(table, rows.to_table(filter=owned.filter()), staged, schema, owned)
        return int(tables.dataset(DeltaTable(address)).count_rows(filter=owned.filter()))

    written = tables.retry_conflicts(commit, address)
    tables.keep_few_files(address)
    return written


def _fresh(staged: ds.Dataset | None, schema: pa.Schema) -> pa.RecordBatchReader:
    """The staged rows, each for the first time, batch by batch."""

    def batches() -> Iterator[pa.RecordBatch]:
        if staged is not None:
            for batch in staged.to_batches(columns=schema.names[:-1], batch_size=_AT_ONCE):
                rows = pa.Table.from_batches([batch]).append_column(REVISION, _zeros(batch.num_rows))
                yield from rows.cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _revise(table: DeltaTable, before: pa.Table, staged: ds.Dataset | None, schema: pa.Schema, owned: Owned) -> None:
    plain = pa.schema(list(schema)[:-1])
    rows = plain.empty_table() if staged is None else staged.to_table(columns=plain.names).cast(plain)
    keys = [name for name in plain.names if name.startswith("_seq_")]
    revised = with_revisions(rows, before, keys)
    if not same_rows(revised, before, keys):
        tables.overwrite(table, revised, owned.sql())


def _zeros(rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(0, pa.int64()), rows)
