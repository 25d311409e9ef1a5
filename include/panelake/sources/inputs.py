"""What belongs to a slice, recorded once: running the slice again takes exactly that.

`ledger/files` remembers each file's least and greatest event time, so that only files that overlap a slice are read.
`ledger/inputs` holds, for each slice, the files it takes and what was ingested before it: history ingested later must
not change what a slice took. A `fresh` file is first seen by the slice: its tuples for slices that were done without
it are late, and its unreadable tuples are this slice's to quarantine. `rules` are the stream's rules then in force:
changed ones apply from the next slice on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from panelake import tables
from panelake.catalog import Catalog
from panelake.errors import BadInputError
from panelake.slices import Slice, merged, to_datetime, to_microseconds
from panelake.sources.files import SourceFile

_INSTANT = tables.timestamp_type()
_SPANS = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))
_FILE_FIELDS = [("path", pa.string()), ("size", pa.int64()), ("modified", pa.int64())]
FILES = pa.schema([("stream", pa.string()), *_FILE_FIELDS, ("low", pa.int64()), ("high", pa.int64())])
INPUTS = pa.schema([
    ("stream", pa.string()),
    ("slice_start", _INSTANT),
    ("slice_end", _INSTANT),
    ("files", pa.list_(pa.struct([*_FILE_FIELDS, ("fresh", pa.bool_()), ("late", _SPANS)]))),
    ("before", _SPANS),
    ("queues", _SPANS),
    ("replays", pa.list_(pa.int64())),
    ("rules", pa.string()),
    ("version", pa.int64()),
])  # fmt: skip


@dataclass(frozen=True)
class TimeSpan:
    """A file's least and greatest event time, microseconds, both included; None where it cannot be told."""

    low: int | None
    high: int | None

    @property
    def is_known(self) -> bool:
        return self.low is not None and self.high is not None

    def overlaps(self, part: Slice) -> bool:
        return (self.low is None or self.low < part.end) and (self.high is None or self.high >= part.start)


UNKNOWN = TimeSpan(None, None)
NOTHING = TimeSpan(1 << 62, -(1 << 62))


@dataclass(frozen=True)
class InputFile:
    """A file a slice takes tuples from; in a fresh one the tuples of the `late` spans are late."""

    file: SourceFile
    fresh: bool
    late: tuple[Slice, ...] = ()


@dataclass(frozen=True)
class SliceInput:
    """What a slice takes: files, late tuples that other slices queued, replays; `before` was ingested earlier."""

    files: tuple[InputFile, ...]
    before: tuple[Slice, ...] = ()
    queues: tuple[Slice, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)
    replays: tuple[int, ...] = ()


Recorded = Mapping[Slice, SliceInput]


def choose_by_time(
    part: Slice, listing: Sequence[SourceFile], spans: Mapping[SourceFile, TimeSpan], recorded: Recorded
) -> tuple[InputFile, ...]:
    """The files that overlap the slice and, for the newest slice, those nobody took late tuples from."""
    newest = is_newest(part, recorded)
    seen = {taken.file for known in recorded.values() for taken in known.files if taken.fresh}
    taken_by = {done: {taken.file for taken in known.files} for done, known in recorded.items()}
    chosen = []
    for file in listing:
        fresh = newest and file not in seen
        if fresh or spans.get(file, UNKNOWN).overlaps(part):
            chosen.append(InputFile(file, fresh, _without(file, taken_by) if fresh else ()))
    return tuple(chosen)


def choose_unseen(listing: Sequence[SourceFile], recorded: Recorded) -> tuple[InputFile, ...]:
    """The files that no slice took."""
    seen = {taken.file for known in recorded.values() for taken in known.files}
    return tuple(InputFile(file, fresh=True) for file in listing if file not in seen)


def is_newest(part: Slice, recorded: Iterable[Slice]) -> bool:
    """Whether no slice after this one was ingested."""
    return all(part.start >= other.end for other in recorded if other != part)


def _without(file: SourceFile, taken_by: Mapping[Slice, Collection[SourceFile]]) -> tuple[Slice, ...]:
    """The slices done without this file: its tuples in them are late, in all others they were taken."""
    return merged(part for part, files in taken_by.items() if file not in files)


def changes(before: SliceInput, after: SliceInput) -> dict[str, list[str]]:
    """What differs between two inputs of one slice, by path."""
    then = {taken.file.path: taken.file for taken in before.files}
    now = {taken.file.path: taken.file for taken in after.files}
    return {
        "added": sorted(now.keys() - then.keys()),
        "gone": sorted(then.keys() - now.keys()),
        "changed": sorted(path for path in now.keys() & then.keys() if now[path] != then[path]),
    }


class Inputs:
    """The memory of files and of each slice's input."""

    def __init__(self, catalog: Catalog, stream: str) -> None:
        self._stream = stream
        self._files = catalog.ledger("files")
        self._inputs = catalog.ledger("inputs")

    def spans(self) -> dict[SourceFile, TimeSpan]:
        rows = tables.read(self._files, FILES, where={"stream": self._stream}).to_pylist()
        return {_file(row): TimeSpan(row["low"], row["high"]) for row in rows}

    def remember(self, spans: Mapping[SourceFile, TimeSpan]) -> None:
        """Keep the spans that are known; the others may be told later."""
        rows = [
            {"stream": self._stream, **vars(file), "low": span.low, "high": span.high}
            for file, span in spans.items()
            if span.is_known
        ]
        if rows:
            tables.append(self._files, pa.Table.from_pylist(rows, schema=FILES))

    def recorded(self) -> dict[Slice, SliceInput]:
        return _recorded(tables.read(self._inputs, INPUTS, where={"stream": self._stream}), self._stream)

    def record(self, part: Slice, chosen: SliceInput, *, anew: bool = False) -> SliceInput:
        """Record the slice's input unless another run did already; what is recorded counts, unless it is anew."""
        kept: list[SliceInput] = []

        def decide(rows: pa.Table) -> pa.Table | None:
            known = None if anew else _recorded(rows, self._stream).get(part)
            kept[:] = [chosen if known is None else known]
            return _input_row(self._stream, part, chosen, version=rows.num_rows) if known is None else None

        tables.compare_and_append(self._inputs, INPUTS, decide)
        return kept[0]


def require_unchanged(stream: str, recorded: Recorded, listing: Iterable[SourceFile]) -> None:
    """Refuse a file that was replaced or truncated after tuples were taken from it."""
    before = {taken.file.path: (taken.file, part) for part, known in recorded.items() for taken in known.files}
    for file in listing:
        then, part = before.get(file.path, (file, None))
        if then != file:
            raise BadInputError(
                f"stream {stream}: {file.path} changed since slice {part} took it:"
                f" {then.size} bytes then, {file.size} now."
                " A landed file must stay as it is: put it back and land new tuples in a new file,"
                " or take it as it is now with --again --refresh"
            )


def require_present(stream: str, recorded: SliceInput, listing: Iterable[SourceFile]) -> None:
    """Refuse to run a slice again without the files it was made from."""
    there = {file.path for file in listing}
    for taken in recorded.files:
        if taken.file.path not in there:
            raise BadInputError(
                f"stream {stream}: {taken.file.path} is recorded as this slice's input and is gone; put it back,"
                " or take what is there now with --again --refresh"
            )


def _file(row: Mapping[str, Any]) -> SourceFile:
    return SourceFile(row["path"], row["size"], row["modified"])


def _spans(values: Iterable[Mapping[str, int]]) -> tuple[Slice, ...]:
    return tuple(Slice(span["start"], span["end"]) for span in values)


def _recorded(rows: pa.Table, stream: str) -> dict[Slice, SliceInput]:
    mine = [row for row in rows.to_pylist() if row["stream"] == stream]
    return {
        Slice(to_microseconds(row["slice_start"]), to_microseconds(row["slice_end"])): SliceInput(
            tuple(InputFile(_file(file), file["fresh"], _spans(file["late"])) for file in row["files"]),
            _spans(row["before"]),
            _spans(row["queues"]),
            json.loads(row["rules"]),
            tuple(row["replays"]),
        )
        for row in sorted(mine, key=lambda row: row["version"])
    }


def without(recorded: Recorded, part: Slice) -> dict[Slice, SliceInput]:
    """What is recorded of all other slices."""
    return {other: known for other, known in recorded.items() if other != part}


def _input_row(stream: str, part: Slice, chosen: SliceInput, version: int) -> pa.Table:
    row = {
        "stream": stream,
        "slice_start": to_datetime(part.start),
        "slice_end": to_datetime(part.end),
        "files": [
            {**vars(taken.file), "fresh": taken.fresh, "late": [vars(span) for span in taken.late]}
            for taken in chosen.files
        ],
        "before": [vars(span) for span in chosen.before],
        "queues": [vars(span) for span in chosen.queues],
        "replays": list(chosen.replays),
        "rules": json.dumps(dict(chosen.rules), sort_keys=True),
        "version": version,
    }
    return pa.Table.from_pylist([row], schema=INPUTS)
