"""What happened, slice by slice: the ledger and the audit's verdicts as one list that status and report read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from panelake import tables
from panelake.catalog import Catalog
from panelake.ledger import ENTRIES
from panelake.report.verdicts import Verdict, table_verdicts, worst
from panelake.slices import Slice

_KEYS = ["slice_start", "slice_end", "stage", "subject"]
_TABLE_KINDS = {"ingest": "bronze", "panes": "panes", "windows": "gold", "join": "gold", "publish": "gold"}
_TOLD = ("stage", "subject", "status", "rows", "seconds", "recorded_at", "details")
_INSTANTS = ("slice_start", "slice_end", "recorded_at")


@dataclass(frozen=True)
class Outcome:
    """One ledger entry that counts; `recorded_at` is microseconds."""

    stage: str
    subject: str
    status: str
    rows: int
    seconds: float
    recorded_at: int
    details_text: str | None = None

    @cached_property
    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.details_text or "{}")
        return found

    @property
    def refused(self) -> bool:
        return self.status == "refused"


@dataclass(frozen=True)
class Refusal:
    """What a gate refused, and why."""

    stage: str
    subject: str
    why: str


@dataclass(frozen=True)
class SliceFacts:
    """All that is known of one slice."""

    slice: Slice
    outcomes: tuple[Outcome, ...]
    tables: Mapping[str, Verdict] = field(default_factory=dict)

    def of_stage(self, stage: str) -> tuple[Outcome, ...]:
        """The outcomes of the stage's subjects."""
        return tuple(outcome for outcome in self.outcomes if outcome.stage == stage and outcome.subject)

    def whole(self, stage: str) -> Outcome | None:
        """The stage's outcome for the slice itself."""
        return self.outcome(stage, "")

    def outcome(self, stage: str, subject: str) -> Outcome | None:
        """The stage's outcome for one subject."""
        return next((o for o in self.outcomes if (o.stage, o.subject) == (stage, subject)), None)

    def counted(self, name: str) -> int | None:
        """A count of ingest over all streams; None before ingest."""
        found = [_number(outcome.details.get(name, 0)) for outcome in self.of_stage("ingest")]
        return sum(found) if found else None

    @property
    def published(self) -> int | None:
        """Rows made readable; None where nothing was."""
        done = [outcome.rows for outcome in self.of_stage("publish") if not outcome.refused]
        return sum(done) if done else None

    @property
    def quality(self) -> Verdict | None:
        """The worst verdict of all tables; None before the audit."""
        audited = self.whole("audit") is not None or bool(self.of_stage("audit"))
        return worst(self.tables.values(), "passed") if audited or self.tables else None

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Each reason once: publish repeats what the audit said of a query."""
        refused = [outcome for outcome in self.outcomes if outcome.refused and outcome.subject]
        reasons: dict[str, Refusal] = {}
        for outcome in refused:
            table = _table_name(outcome)
            why = str(outcome.details.get("why", "")).removeprefix(f"{table}: ")
            reasons.setdefault(table, Refusal(outcome.stage, table, why))
        return tuple(reasons.values())

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by stage, in the order run."""
        return {outcome.stage: outcome.seconds for outcome in self.outcomes if not outcome.subject}

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())

    @property
    def freshness(self) -> int | None:
        """Microseconds from the slice's end until its answers were readable; negative for a slice run too early."""
        published = self.whole("publish")
        return None if published is None or published.refused else published.recorded_at - self.slice.end

    @property
    def shed(self) -> int | None:
        """Tuples that joins shed; None where no join may."""
        found = [int(value) for value in self._told("shed")]
        return sum(found) if found else None

    @property
    def estimated_accuracy(self) -> float | None:
        return min((float(value) for value in self._told("estimated_accuracy")), default=None)

    @property
    def measured_accuracy(self) -> float | None:
        return min((float(value) for value in self._told("measured_accuracy")), default=None)

    def _told(self, name: str) -> list[Any]:
        """What any stage's details say under a name, where they say something."""
        mark = f'"{name}"'
        tellers = (outcome for outcome in self.outcomes if outcome.subject and mark in (outcome.details_text or ""))
        return [outcome.details[name] for outcome in tellers if outcome.details.get(name) is not None]


def _number(value: Any) -> int:
    """A count, or the sum of counts by reason."""
    return sum(int(count) for count in value.values()) if isinstance(value, Mapping) else int(value or 0)


def _table_name(outcome: Outcome) -> str:
    """The table an outcome is about: the audit names it, other stages name the stream or query."""
    kind = _TABLE_KINDS.get(outcome.stage)
    return f"{kind}/{outcome.subject}" if kind else outcome.subject


def read_history(catalog: Catalog) -> list[SliceFacts]:
    """Every slice the ledger knows, oldest first."""
    rows = newest_entries(tables.read(catalog.ledger("stages"), ENTRIES))
    found: dict[tuple[int, int], list[Outcome]] = {}
    columns = [rows[name].to_pylist() for name in ("slice_start", "slice_end", *_TOLD)]
    for start, end, *told in zip(*columns, strict=True):
        found.setdefault((start, end), []).append(Outcome(*told))
    verdicts = table_verdicts(catalog.quality) if found else {}
    parts = [(Slice(*bounds), outcomes) for bounds, outcomes in sorted(found.items())]
    return [_facts(part, outcomes, verdicts.get(part, {})) for part, outcomes in parts]


def newest_entries(rows: pa.Table) -> pa.Table:
    """The rows that count, in the order recorded: the newest of each (slice, stage, subject); instants as integers."""
    ordered = rows.sort_by("recorded_at")
    for name in _INSTANTS:
        index = ordered.schema.get_field_index(name)
        ordered = ordered.set_column(index, name, ordered[name].cast(pa.int64()))
    numbered = ordered.append_column("place", pa.array(range(ordered.num_rows), pa.int64()))
    last = numbered.group_by(_KEYS).aggregate([("place", "max")])["place_max"]
    return ordered.take(last.combine_chunks().sort())


def _facts(part: Slice, outcomes: Iterable[Outcome], found: Mapping[str, Verdict]) -> SliceFacts:
    """The ledger decides: a table it holds as done is at most warned, one it holds as refused is refused."""
    told = tuple(outcomes)
    verdicts: dict[str, Verdict] = dict(found)
    for outcome in told:
        if outcome.stage == "audit" and outcome.subject:
            known = verdicts.get(outcome.subject, "passed")
            # Read from the text: the details of every slice ever audited need not be parsed for this.
            warned = known != "passed" or '"warnings": ["' in (outcome.details_text or "")
            allowed: Verdict = "warned" if warned else "passed"
            verdicts[outcome.subject] = "refused" if outcome.refused else allowed
    return SliceFacts(part, told, dict(sorted(verdicts.items())))


def missing_between(parts: Sequence[Slice]) -> list[Slice]:
    """The stretches between known slices that none of them covers, each as one."""
    gaps: list[Slice] = []
    covered: int | None = None
    for part in sorted(parts):
        if covered is not None and part.start > covered:
            gaps.append(Slice(covered, part.start))
        covered = part.end if covered is None else max(covered, part.end)
    return gaps
