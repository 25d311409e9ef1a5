"""Who was forgotten: which keys of a stream, as salted digests, so that a slice run again leaves them out.

The keys themselves are never written down. A slice that holds forgotten tuples says how many in its ingest entry.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake import tables
from panelake.catalog import Catalog
from panelake.ledger import Ledger
from panelake.slices import Slice

FORGOTTEN = "forgotten"  # in the details of an ingest entry: how many accepted tuples are no longer there
REQUESTS = pa.schema([
    ("stream", pa.string()),
    ("columns", pa.string()),
    ("salt", pa.string()),
    ("digest", pa.string()),
    ("recorded_at", tables.timestamp_type()),
])  # fmt: skip


@dataclass(frozen=True)
class Request:
    """Columns whose values together have this digest under this salt."""

    columns: tuple[str, ...]
    salt: str
    digest: str

    def matches(self) -> Column:
        """Whether a tuple is one of those forgotten."""
        return digest_of([F.col(f"`{name}`") for name in self.columns], self.salt) == F.lit(self.digest)


def digest_of(values: Sequence[Column], salt: str) -> Column:
    """The digest, NULL where a value is: NULL is nobody's key."""
    return F.sha2(F.concat(F.lit(salt), *[F.concat(F.lit("\x1f"), value.cast("string")) for value in values]), 256)


class Requests:
    """The forgotten keys of a stream."""

    def __init__(self, catalog: Catalog, stream: str) -> None:
        self._address = catalog.ledger("forgotten")
        self._stream = stream

    def all(self) -> list[Request]:
        rows = tables.read(self._address, REQUESTS, where={"stream": self._stream}).to_pylist()
        return [Request(tuple(json.loads(row["columns"])), row["salt"], row["digest"]) for row in rows]

    def record(self, request: Request) -> None:
        row = {
            "stream": self._stream,
            "columns": json.dumps(request.columns),
            "salt": request.salt,
            "digest": request.digest,
            "recorded_at": datetime.now(UTC),
        }
        tables.append(self._address, pa.Table.from_pylist([row], schema=REQUESTS))


def left_out(catalog: Catalog, stream: str, part: Slice) -> tuple[int, Column | None]:
    """How many tuples of an ingested slice were forgotten, and the condition that finds them; (0, None) mostly."""
    known = Ledger(catalog).of_slice(part).get(("ingest", stream))
    count = int(known.details.get(FORGOTTEN, 0)) if known else 0
    if not count:
        return 0, None
    matches = [F.coalesce(request.matches(), F.lit(False)) for request in Requests(catalog, stream).all()]  # noqa: FBT003
    return count, reduce(or_, matches)
