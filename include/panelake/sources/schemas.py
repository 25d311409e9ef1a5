"""The schemas a stream has had: columns may be added, with NULL in older tuples; nothing else may change."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa

from panelake import tables
from panelake.catalog import Catalog
from panelake.errors import BadInputError
from panelake.slices import Slice, to_datetime

SCHEMAS = pa.schema([
    ("stream", pa.string()),
    ("version", pa.int64()),
    ("columns", pa.string()),
    ("slice_start", tables.timestamp_type()),
])  # fmt: skip


class Schemas:
    """The recorded schemas of one stream."""

    def __init__(self, catalog: Catalog, stream: str) -> None:
        self._address = catalog.ledger("schemas")
        self._stream = stream

    def versions(self) -> list[dict[str, str]]:
        """All schemas, oldest first."""
        return self._versions(tables.read(self._address, SCHEMAS))

    def admit(self, columns: Mapping[str, str], part: Slice) -> frozenset[str]:
        """Record the schema if it is new; give the columns that the stream did not begin with."""
        known = self.versions()
        if not known or known[-1] != dict(columns):
            tables.compare_and_append(self._address, SCHEMAS, lambda rows: self._decide(rows, columns, part))
            known = self.versions()
        return frozenset(columns) - frozenset(known[0])

    def _decide(self, rows: pa.Table, columns: Mapping[str, str], part: Slice) -> pa.Table | None:
        known = self._versions(rows)
        if known and known[-1] == dict(columns):
            return None
        if known:
            require_additive(self._stream, known[-1], columns)
        row = {
            "stream": self._stream,
            "version": len(known),
            "columns": json.dumps(dict(columns)),
            "slice_start": to_datetime(part.start),
        }
        return pa.Table.from_pylist([row], schema=SCHEMAS)

    def _versions(self, rows: pa.Table) -> list[dict[str, str]]:
        mine = sorted((row for row in rows.to_pylist() if row["stream"] == self._stream), key=lambda r: r["version"])
        return [json.loads(row["columns"]) for row in mine]


def require_additive(stream: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse a schema that took a column away or changed its type."""
    for name, kind in before.items():
        if now.get(name) != kind:
            found = f"is {now[name]} now" if name in now else "is gone now"
            raise BadInputError(
                f"stream {stream}: column {name!r} was {kind} in the tuples ingested, and {found}. Columns can be"
                " added, not changed: put it back in streams.yaml, or declare a new stream"
            )
