"""Where a stream's `where` changed: each slice keeps the filters it was ingested by, changed ones are the next's."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from panelake.console import say
from panelake.context import Context
from panelake.language.stream_filters import StreamFilter, lower_filters, recorded_filters
from panelake.numbers import Numbers
from panelake.slices import format_instant
from panelake.sources.inputs import Inputs


@dataclass(frozen=True)
class Border:
    """Filters before and after the start of a slice; None is the next slice to be ingested."""

    stream: str
    start: int | None
    before: tuple[StreamFilter, ...]
    after: tuple[StreamFilter, ...]

    def document(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {
            "stream": self.stream,
            "from": None if self.start is None else format_instant(self.start),
            "before": [one.text for one in self.before],
            "after": [one.text for one in self.after],
        }


def filter_borders(context: Context) -> list[Border]:
    """The borders of every stream, in the order of time."""
    return [border for name in context.workspace.streams for border in _borders(context, name)]


def _borders(context: Context, name: str) -> list[Border]:
    taken = {known.slice for known in Numbers(context.catalog).taken(name)}
    recorded = Inputs(context.catalog, name).recorded()
    filters = [(part.start, recorded_filters(recorded[part].rules)) for part in sorted(taken & recorded.keys())]
    declared = lower_filters(name, context.workspace.streams[name], context.workspace.python)
    stretches: list[tuple[int | None, tuple[StreamFilter, ...]]] = [*filters, (None, tuple(declared))]
    return [
        Border(name, start, before, after)
        for (_, before), (start, after) in pairwise(stretches)
        if _meaning(before) != _meaning(after)
    ]


def _meaning(filters: tuple[StreamFilter, ...]) -> set[str]:
    """Their order decides nothing."""
    return {one.condition for one in filters}


def tell_borders(borders: list[dict[str, Any]]) -> None:
    """The same for a person."""
    for border in borders:
        since = f"from slice {border['from']} on" if border["from"] else "from the next ingested slice on"
        before, after = (" AND ".join(border[side]) or "no filter" for side in ("before", "after"))
        say(f"where of stream {border['stream']} changed: {before}; {since}: {after}; older tuples stay as they are")
