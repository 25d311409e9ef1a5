"""Cuts time and rows into chunks where a pane set has fewer groups than would keep every core at work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.planning.pane_set import PaneSet
from panelake.spark.chunks import Chunks, chunks_of
from panelake.spark.slide import SET, WindowTask
from panelake.stages.due import few_ranges
from panelake.stages.pane_reader import Span
from panelake.stages.panes import ROW, UNIT


def in_chunks(
    tasks: Sequence[WindowTask], sets: Sequence[PaneSet], wanted: Callable[[PaneSet], int]
) -> list[WindowTask]:
    """The tasks, each set's in the wanted number of chunks: of time and of rows apart, numbered one after the other."""
    chunks: dict[tuple[str, str], Chunks] = {}
    for made in sets:
        number = 0
        for position in (UNIT, ROW):
            mine = [one for one in tasks if (one.pane_set, one.position) == (made.name, position)]
            reach = reach_of([one for one in mine if one.first < one.last], position)
            if reach and wanted(made) > 1:
                windows = [one.window for one in mine]
                cut = chunks_of(reach[0][0], reach[-1][1], windows, wanted(made))
                chunks[made.name, position] = replace(cut, first=number)
                number += cut.count
    return [replace(one, chunks=chunks.get((one.pane_set, one.position))) for one in tasks]


def reach_of(tasks: Iterable[WindowTask], position: str) -> tuple[Span, ...]:
    """What the due windows of an axis cover, from a first one's start to a last one's end."""
    spans = [range(t.window.start(t.first), t.window.end(t.last - 1)) for t in tasks if t.position == position]
    return tuple((span.start, span.stop) for span in few_ranges(spans))


def chunk_column(tasks: Sequence[WindowTask]) -> Column:
    """The chunks a pane goes to, a row for each: one, unless its set is in chunks."""
    found: dict[str, dict[str, Chunks]] = {}
    for task in tasks:
        if task.chunks is not None:
            found.setdefault(task.pane_set, {})[task.position] = task.chunks
    if not found:
        return F.lit(0).cast("bigint")
    numbers = F.array(F.lit(0).cast("bigint"))
    for name, axes in found.items():
        mine = [F.expr(chunks.sql(f"`{position}`")) for position, chunks in axes.items()]
        numbers = F.when(F.col(SET) == name, F.concat(*mine)).otherwise(numbers)
    return F.explode(numbers)
