"""Waiting for a source, without holding a worker: `wait` in a stream's source says how long past the slice's end.

A source is there when it can be asked; one with a folder a slice, when the folder holds a file. When the time is over
the slice runs with what there is: an empty folder is an empty slice, a broker that is down is an error to try again.
"""

from __future__ import annotations

from datetime import UTC, datetime

from panelake.context import Context
from panelake.errors import PartDownError
from panelake.slices import Slice, format_instant, to_microseconds
from panelake.sources.inputs import Inputs
from panelake.sources.source import reader_of


def awaited_source(context: Context, part: Slice, now: int | None = None) -> str | None:
    """What the slice's ingest has to wait for, in words; None where it can begin."""
    clock = to_microseconds(datetime.now(UTC)) if now is None else now
    for name, declared in context.workspace.streams.items():
        until = part.end + declared.source.wait
        if declared.source.wait and clock < until and not _is_there(context, name, part):
            return f"the source of stream {name}, {_place(context, name)}, until {format_instant(until)}"
    return None


def _is_there(context: Context, stream: str, part: Slice) -> bool:
    """Whether the slice can take something; one that took its input before is not waited for again."""
    recorded = Inputs(context.catalog, stream).recorded()
    if part in recorded:
        return True
    try:
        pieces = reader_of(context.workspace, stream).pieces(part, recorded)
    except PartDownError:
        return False
    return bool(pieces) or context.workspace.streams[stream].source.rule != "path"


def _place(context: Context, stream: str) -> str:
    source = context.workspace.streams[stream].source
    return (
        f"topic {source.topic} at {source.servers}"
        if source.format == "kafka"
        else context.workspace.source_path(stream)
    )
