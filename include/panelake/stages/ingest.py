"""Ingest: a slice of each stream, from its source into bronze, quarantine and held, losing nothing.

Every tuple read or released ends accepted, filtered, quarantined or held, and what was written is counted against
that. What a slice takes is recorded before anything is read, its numbers before anything is written: a run that was
cut short is run again with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.errors import TransientError
from panelake.filters.memory import FilterMemory
from panelake.forgotten import FORGOTTEN, left_out
from panelake.ledger import Entry
from panelake.numbers import NumberRange, Numbers, covering
from panelake.slices import Slice
from panelake.sources import source
from panelake.sources.conversion import EXTRA, MISSING
from panelake.sources.source import column
from panelake.stages import arrivals, bronze_order, filtering, glancing, intake, outcome, renumbering
from panelake.stages.counting import count
from panelake.stages.filtering import Filtering
from panelake.stages.refused_filters import filters_refuse
from panelake.stages.verdicts import (
    ACCEPTED,
    VERDICT,
    Counts,
    Rules,
    classified,
    reaches_filters,
    with_raw_of_bad_ones,
)
from panelake.streams import Stream


@dataclass(frozen=True)
class _Ingest:
    """One stream's slice: what it takes, by which rules."""

    context: Context
    name: str
    declared: Stream
    reader: source.Reader
    part: Slice
    taken: intake.Intake

    @property
    def rules(self) -> Rules:
        return Rules.recorded(self.taken.chosen.rules)


def run(context: Context, part: Slice) -> list[Entry]:
    """Ingest the slice of every stream."""
    return [_ingest_stream(context, name, part) for name in context.workspace.streams]


def _ingest_stream(context: Context, name: str, part: Slice) -> Entry:
    numbers = Numbers(context.catalog)
    inside = covering(numbers.taken(name), part)
    if inside:
        return _covered(context, name, part, inside)
    numbers.require_free(name, part, allow_gap=context.allow_gap)
    declared = context.workspace.streams[name]
    optional = intake.added_columns(context, name, part)
    reader = source.reader_of(context.workspace, name, optional)
    job = _Ingest(context, name, declared, reader, part, intake.take(context, name, part, reader))
    held = arrivals.written_before(context.spark, context.catalog.held(name), job.taken.chosen.before)
    with source.settings(context.spark), filters_refuse(name, part), _tuples(job, held) as (tuples, ordered):
        counts = _glanced(job, held) or count(tuples, job.rules, part, ordered)
        return _written(job, tuples, counts, numbers, ordered)


def _glanced(job: _Ingest, held: DataFrame | None) -> Counts | None:
    """The counts by event times alone, where every tuple comes from files whose times are known to the source."""
    chosen = job.taken.chosen
    if held is not None or chosen.replays or job.taken.needs_spans:
        return None
    return glancing.counted(job.reader, chosen, job.rules, job.part)


@contextmanager
def _tuples(job: _Ingest, held: DataFrame | None) -> Iterator[tuple[DataFrame, Filtering]]:
    """The slice's tuples with their verdicts; where reading is dear they are kept until the end of the block."""
    spark, chosen, rules = job.context.spark, job.taken.chosen, job.rules
    tuples = arrivals.read(spark, job.reader, job.declared, chosen, job.part, whole=job.taken.needs_spans)
    if held is not None:
        tuples = tuples.unionByName(arrivals.released(held, job.declared, chosen, job.part))
    if chosen.replays:
        replays = spark.read.format("delta").load(job.context.catalog.replays(job.name))
        tuples = tuples.unionByName(arrivals.replayed(replays, job.declared, chosen.replays))
    if rules.unique:
        bronze = arrivals.written_before(spark, job.context.catalog.bronze(job.name), chosen.before)
        releases = bool(chosen.replays or chosen.queues)
        tuples = arrivals.with_duplicates(tuples, bronze, rules, job.part, chosen.before, releases=releases)
    is_dear, is_probed = job.reader.parses or bool(rules.unique), len(rules.where) > 1
    with _kept(tuples, is_dear and is_probed) as read:
        ordered = _filtering(job, read)
        judged = with_raw_of_bad_ones(classified(read, rules, job.part, chosen.before, ordered))
        # Python is asked once, not by every pass; and of what is not probed, the raw text of good tuples is not kept.
        with _kept(judged, bool(rules.python) or (is_dear and not is_probed)) as twice:
            yield twice, ordered


@contextmanager
def _kept(frame: DataFrame, keep: bool) -> Iterator[DataFrame]:  # noqa: FBT001 - said by its name
    """The frame, on disk from its first pass to the end of the block where it is worth keeping."""
    if not keep:
        yield frame
        return
    persisted = frame.persist(StorageLevel.DISK_ONLY)
    try:
        yield persisted
    finally:
        persisted.unpersist()


def _filtering(job: _Ingest, tuples: DataFrame) -> Filtering:
    """The stream's filters, in the order that was learned from the slices before."""
    rules = job.rules
    plain = filtering.as_written(rules.where, job.declared.columns, rules.event_time, rules.python)
    memory = FilterMemory(job.context.catalog)
    ordered = filtering.opened(memory, job.name, job.part, plain, anew=job.taken.is_refreshed)
    return filtering.probed(ordered, tuples.where(reaches_filters(rules, job.part, job.taken.chosen.before)))


def _written(job: _Ingest, tuples: DataFrame, counts: Counts, numbers: Numbers, ordered: Filtering) -> Entry:
    context, name, part, catalog = job.context, job.name, job.part, job.context.catalog
    counts.require_conserved(name)
    if ordered.idle is not None:
        reached = counts.accepted + counts.filtered.total()
        FilterMemory(catalog).record([ordered.learned(part, name, reached, counts.outcomes, counts.filtered)])
    job.taken.remember(counts.spans)
    cut = counts.cut_late(job.rules.max_late)
    queued = counts.queue_from(cut) if cut is not None else 0
    tuples = tuples if cut is None else outcome.cut_late(tuples, job.declared, part, cut)
    given = numbers.reserve(name, part, counts.accepted, allow_gap=context.allow_gap, restate=context.restate)
    job.taken.keep()
    forgotten, gone = left_out(catalog, name, part)
    numbered = _numbered(job, tuples, counts, given)
    written = outcome.write_bronze(catalog.bronze(name), job.declared, numbered, given, gone)
    kept = outcome.write_quarantine(catalog, name, job.declared, tuples, counts)
    held = outcome.write_held(catalog, name, job.declared, tuples, counts)
    forgotten = counts.accepted - written if gone is not None and job.taken.is_refreshed else forgotten
    _require_written(name, counts, written + forgotten, kept, held)
    moved = renumbering.renumber(context, name, part)
    DirtySet(catalog).mark(name, part, _dirty(job, counts))
    details = _details(job, counts, given) | {"queued": queued, "renumbered": moved}
    if forgotten:
        details[FORGOTTEN] = forgotten
    if counts.quarantined[EXTRA] or counts.quarantined[MISSING]:
        details["drift"] = outcome.drift_names(tuples, (EXTRA, MISSING))
    return Entry(part, "ingest", name, "done", written, details=details)


def _numbered(job: _Ingest, tuples: DataFrame, counts: Counts, given: NumberRange) -> DataFrame:
    """The accepted tuples with their numbers; where glances told all, each file is read on its own."""
    event_time = job.declared.event_time
    if not counts.glances or not counts.accepted:
        accepted = tuples.where(column(VERDICT) == ACCEPTED)
        return bronze_order.numbered(accepted, event_time, counts, given.first)
    frames = [
        arrivals.read(
            job.context.spark,
            job.reader,
            job.declared,
            replace(job.taken.chosen, files=(taken,)),
            job.part,
            whole=False,
        )
        for taken in job.taken.chosen.files
    ]
    return bronze_order.numbered_files(frames, event_time, counts, given.first)


def _require_written(name: str, counts: Counts, *written: int) -> None:
    expected = (counts.accepted, counts.quarantined.total(), counts.held)
    if written != expected:
        raise TransientError(
            f"stream {name}, slice {counts.part}: {expected} tuples were accepted, quarantined and held, but {written}"
            " written; the source changed meanwhile. Run the slice again"
        )


def _dirty(job: _Ingest, counts: Counts) -> list[DirtyRange]:
    """Event times whose windows may be answered already: of late tuples, of others' slices, of history and gaps."""
    part = job.part
    ranges = []
    if counts.late and counts.low is not None and counts.late_high is not None:
        ranges.append(DirtyRange(part, counts.low, counts.late_high + 1, "late", counts.late))
    if counts.high is not None and counts.high >= part.end:
        ranges.append(DirtyRange(part, part.end, counts.high + 1, "early", counts.accepted))
    if job.taken.is_refreshed or job.context.restate:
        ranges.append(DirtyRange(part, *_span_before(job), "restated", counts.accepted))
    elif not job.taken.is_newest and counts.accepted > counts.late:
        ranges.append(DirtyRange(part, part.start, part.end, "history", counts.accepted - counts.late))
    return ranges


def _span_before(job: _Ingest) -> tuple[int, int]:
    """The event times that the slice's tuples had before it was ingested anew: some may be there no more."""
    part, entry = job.part, job.context.ledger.of_slice(job.part).get(("ingest", job.name))
    before = entry.details if entry else {}
    late, last = before.get("late_from"), before.get("high")
    low = part.start if late is None else min(late, part.start)
    return low, part.end if last is None else max(last + 1, part.end)


def _details(job: _Ingest, counts: Counts, given: NumberRange) -> dict[str, Any]:
    return {
        "read": counts.read,
        "released": counts.released,
        "accepted": given.count,
        "filtered": dict(counts.filtered),
        "quarantined": counts.quarantined.total(),
        "reasons": dict(counts.quarantined),
        "held": counts.held,
        "late": counts.late,
        "late_from": counts.low if counts.late else None,
        "high": counts.high,
        "event_times": [counts.low, counts.high] if counts.accepted else None,
        "first": given.first,
        "files": len(job.taken.chosen.files),
        "in_order": bronze_order.is_in_order(counts),
        **job.taken.notes,
    }


def _covered(context: Context, name: str, part: Slice, inside: list[NumberRange]) -> Entry:
    """A longer slice over ingested ones: nothing to ingest, its tuples are theirs."""
    parts = {known.slice for known in inside}
    own = [entry for entry in context.ledger.entries(stage="ingest", subject=name) if entry.slice in parts]
    sums = ("read", "released", "accepted", "quarantined", "held", "queued", "late", FORGOTTEN)
    details: dict[str, Any] = {key: sum(entry.details.get(key, 0) for entry in own) for key in sums}
    for key in ("filtered", "reasons"):
        names = sorted({text for entry in own for text in entry.details.get(key, {})})
        details[key] = {text: sum(entry.details.get(key, {}).get(text, 0) for entry in own) for text in names}
    late = [entry.details["late_from"] for entry in own if entry.details.get("late_from") is not None]
    details |= {"late_from": min(late, default=None), "first": min(known.first for known in inside)}
    rows = sum(known.count for known in inside)
    return Entry(part, "ingest", name, "done", rows, details=details | {"slices": len(inside)})
