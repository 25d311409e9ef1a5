"""Intake: what a slice takes, chosen once from what is there and recorded, under the rules then in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from panelake.context import Context
from panelake.language.stream_filters import lower_filters
from panelake.numbers import Numbers
from panelake.slices import Slice, merged
from panelake.sources import inputs
from panelake.sources.files import SourceFile, plain_path
from panelake.sources.inputs import NOTHING, UNKNOWN, Inputs, Recorded, SliceInput, TimeSpan
from panelake.sources.replays import Replays
from panelake.sources.schemas import Schemas
from panelake.sources.source import Reader
from panelake.streams import Arrival


@dataclass(frozen=True)
class Intake:
    """A slice's recorded input and what is known around it; `notes` go to the ledger."""

    memory: Inputs
    part: Slice
    chosen: SliceInput
    spans: Mapping[SourceFile, TimeSpan]
    is_newest: bool
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_refreshed(self) -> bool:
        return bool(self.notes)

    @property
    def needs_spans(self) -> bool:
        """Whether a file's event times are told by reading it."""
        return any(not self.spans.get(taken.file, UNKNOWN).is_known for taken in self.chosen.files)

    def keep(self) -> None:
        """Record an input that was chosen anew, once its numbers are reserved: a refused one leaves no trace."""
        if self.is_refreshed:
            self.memory.record(self.part, self.chosen, anew=True)

    def remember(self, found: Mapping[str, tuple[int, int] | None]) -> None:
        """Keep the spans of files that were read whole; one without any usable tuple overlaps no slice."""
        by_path = {plain_path(file): span for file, span in found.items()}
        unknown = [taken.file for taken in self.chosen.files if not self.spans.get(taken.file, UNKNOWN).is_known]
        spans = {file: by_path.get(plain_path(file.path)) for file in unknown}
        self.memory.remember({file: TimeSpan(*span) if span else NOTHING for file, span in spans.items()})


def take(context: Context, name: str, part: Slice, reader: Reader) -> Intake:
    """The slice's input: that recorded, else chosen from what is there now and recorded."""
    memory = Inputs(context.catalog, name)
    recorded = memory.recorded()
    known = recorded.get(part)
    others = inputs.without(recorded, part)
    newest = inputs.is_newest(part, others)
    listing = reader.pieces(part, others if context.refresh else recorded)
    if known is not None and not context.refresh:
        inputs.require_unchanged(name, {part: known}, listing)
        inputs.require_present(name, known, listing)
        return Intake(memory, part, _by_rules_in_force(context, name, part, known), memory.spans(), newest)
    if not context.refresh:
        inputs.require_unchanged(name, others, listing)
    spans = memory.spans()
    told = {piece: reader.span(piece) for piece in listing if piece not in spans}
    memory.remember(told)
    files = _choose(context.workspace.streams[name].source.rule, part, listing, spans | told, others)
    queues = _queues(context, name, part, others)
    replays = Replays(context.catalog, name).waiting(others) if newest else ()
    chosen = SliceInput(files, merged(others), queues, rules_of(context, name), replays)
    if known is None:
        return Intake(memory, part, memory.record(part, chosen), spans | told, newest)
    notes = {"refreshed": inputs.changes(known, chosen)}
    return Intake(memory, part, chosen, spans | told, newest, notes)


def _by_rules_in_force(context: Context, name: str, part: Slice, known: SliceInput) -> SliceInput:
    """The input with the rules of now if nothing of the slice was written yet: one that raised may be mended."""
    rules = rules_of(context, name)
    if known.rules == rules or any(given.slice == part for given in Numbers(context.catalog).taken(name)):
        return known
    return Inputs(context.catalog, name).record(part, replace(known, rules=rules), anew=True)


def _choose(
    rule: Arrival, part: Slice, listing: list[SourceFile], spans: Mapping[SourceFile, TimeSpan], others: Recorded
) -> tuple[inputs.InputFile, ...]:
    if rule == "event_time":
        return inputs.choose_by_time(part, listing, spans, others)
    if rule == "file":
        return inputs.choose_unseen(listing, others)
    return tuple(inputs.InputFile(file, fresh=True) for file in listing)


def _queues(context: Context, name: str, part: Slice, others: Recorded) -> tuple[Slice, ...]:
    """Slices that queued late tuples which no slice took yet; the newest slice takes them."""
    if not inputs.is_newest(part, others):
        return ()
    taken = {queue for known in others.values() for queue in known.queues}
    entries = context.ledger.entries(stage="ingest", subject=name)
    waiting = {entry.slice for entry in entries if entry.details.get("queued") and entry.slice != part}
    return tuple(sorted(waiting - taken))


def rules_of(context: Context, name: str) -> dict[str, Any]:
    """The stream's rules as streams.yaml has them now; filters as checked SQL."""
    declared = context.workspace.streams[name]
    filters = lower_filters(name, declared, context.workspace.python)
    return {
        "event_time": declared.event_time,
        "lateness": declared.lateness,
        "future": declared.future,
        "where": [{**vars(known), "parameters": list(known.parameters)} for known in filters],
        "python": context.workspace.python.text if any(known.function for known in filters) else "",
        "unique": list(declared.unique),
        "max_late": declared.max_late,
    }


def added_columns(context: Context, name: str, part: Slice) -> frozenset[str]:
    """Columns that were added to the schema after the stream began; a change of others is refused."""
    return Schemas(context.catalog, name).admit(context.workspace.streams[name].columns, part)
