"""Audit: a slice's tables are checked before anyone can read the answers; what fails is refused, by name.

One Spark job brings the facts of all default rules, Great Expectations judges them as one small frame, and the
verdicts go to `quality/results`. A stream rule that fails refuses the stream's queries, a query rule that query alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from panelake.context import Context
from panelake.errors import BadInputError
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.planning.pane_set import window_spec
from panelake.quality import gate, own_checks, results
from panelake.quality.answer_rules import Answers
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.facts import collected
from panelake.quality.join_audits import JoinAudits, joins_to_audit
from panelake.quality.metric import Metric, Verdict
from panelake.quality.own_rules import OwnRule
from panelake.quality.rule_plan import RulePlan
from panelake.report.data_docs import DataDocs
from panelake.slices import Slice
from panelake.staging import attempt_folder, staged_answers

Mine = Mapping[tuple[str, str], Entry]


def run(context: Context, part: Slice) -> list[Entry]:
    """Audit every stream and query of the slice."""
    mine = context.ledger.of_slice(part)
    with ThreadPoolExecutor(1) as beside:
        loading = beside.submit(gate.load_expectations)  # takes seconds, while Spark is at work
        audits = [_stream_audit(context, name, part, mine) for name in context.workspace.streams]
        joins = joins_to_audit(context, part, mine)
        metrics = _metrics(audits, joins)
        loading.result()
    docs = DataDocs()
    verdicts = [*gate.judged(metrics, docs.add), *_own_verdicts(context, audits, docs), *joins.own_verdicts(docs.add)]
    results.record(context.catalog.quality, part, verdicts)
    docs.write(context, part)
    entries = [entry for audit in audits for entry in _entries(audit, verdicts)]
    return [*entries, *_join_entries(joins, entries, verdicts)]


@dataclass(frozen=True)
class StreamAudit:
    """What is audited of one stream: its slice, the answers its queries staged, and queries that have none."""

    stream: StreamSlice
    answers: tuple[Answers, ...]
    unanswered: tuple[Entry, ...]


def _stream_audit(context: Context, name: str, part: Slice, mine: Mine) -> StreamAudit:
    history = context.ledger.entries(stage="ingest", subject=name)
    stream = StreamSlice(context, name, part, _required(mine, "ingest", name, part), history)
    queries = context.workspace.queries_of(name)
    windows = {query.name: _required(mine, "windows", query.name, part) for query in queries}
    refused = tuple(entry for entry in windows.values() if entry.status == "refused")
    answers = [_answers(context, query, windows[query.name]) for query in queries if windows[query.name] not in refused]
    return StreamAudit(stream, tuple(answers), refused)


def _required(mine: Mine, stage: str, subject: str, part: Slice) -> Entry:
    entry = mine.get((stage, subject))
    if entry is None:
        raise BadInputError(f"{subject}, slice {part}: the stage {stage} is not done yet; run it before the audit")
    return entry


def _answers(context: Context, query: AggregateQuery, windows: Entry) -> Answers:
    folder = context.catalog.staging(query.stream, windows.slice)
    staged = staged_answers(attempt_folder(folder, windows.details), query, windows.details)
    return Answers(query, window_spec(query.window), windows.slice, windows, staged.rows, staged.digest)


def _metrics(audits: Sequence[StreamAudit], joins: JoinAudits) -> list[Metric]:
    """The metrics of all streams and queries, from one Spark job."""
    plans = [RulePlan(audit.stream, audit.answers) for audit in audits]
    frames = {(plan.stream.name, name): frame for plan in plans for name, frame in plan.frames().items()}
    facts = collected({**frames, **joins.frames()})
    return [metric for plan in plans for metric in plan.metrics(facts)] + joins.metrics(facts)


def _join_entries(joins: JoinAudits, entries: Sequence[Entry], verdicts: Sequence[Verdict]) -> list[Entry]:
    """The joins' entries; a stream that was refused blocks them."""
    refused = {entry.subject: entry.details["why"] for entry in entries if entry.status == "refused"}
    found = [_unanswered(entry) for entry in joins.unanswered]
    for one in joins.answers:
        details: dict[str, Any] = {"staged": one.digest}
        blocked = [refused[f"bronze/{name}"] for name in one.query.reads if f"bronze/{name}" in refused]
        if blocked:
            details |= {"why": f"blocked by {blocked[0]}"}
        own = [verdict for verdict in verdicts if verdict.metric.table == one.table]
        found.append(_entry(one.part, one.table, one.joined.rows, own, details))
    return found


def _own_verdicts(context: Context, audits: Sequence[StreamAudit], docs: DataDocs) -> list[Verdict]:
    """What the user's own expectations say of the slice's tuples and of the staged answers."""
    rules = context.workspace.own_rules
    if not rules:
        return []
    own_checks.require_sound(rules)
    by_table: dict[str, list[OwnRule]] = {}
    for rule in rules:
        by_table.setdefault(rule.table, []).append(rule)
    verdicts: list[Verdict] = []
    for audit in audits:
        if audit.stream.table in by_table:
            verdicts += own_checks.validated(by_table[audit.stream.table], audit.stream.tuples(), ["_seq"], docs.add)
        for one in audit.answers:
            if one.table in by_table:
                keys = ["window_end", *one.keys]
                verdicts += own_checks.validated(by_table[one.table], one.rows.to_pandas(), keys, docs.add)
    return verdicts


def _entries(audit: StreamAudit, verdicts: Sequence[Verdict]) -> list[Entry]:
    """The stream's entry, then its queries'; what is blocked by the stream says so."""
    stream = audit.stream
    mine = [
        one for one in verdicts if one.metric.table.partition("/")[2] == stream.name and one.metric.table[:4] != "gold"
    ]
    whole = _entry(stream.part, stream.table, stream.accepted, mine, {})
    entries = [whole]
    for answers in audit.answers:
        own = [verdict for verdict in verdicts if verdict.metric.table == answers.table]
        details = {"staged": answers.digest}
        if whole.status == "refused":
            details |= {"why": f"blocked by {whole.details['why']}"}
        entries.append(_entry(stream.part, answers.table, answers.rows.num_rows, own, details))
    return entries + [_unanswered(entry) for entry in audit.unanswered]


def _entry(part: Slice, table: str, rows: int, verdicts: Sequence[Verdict], details: dict[str, Any]) -> Entry:
    failed = [verdict for verdict in verdicts if verdict.blocks]
    if failed and "why" not in details:
        details = details | {"why": str(failed[0])}
    details = details | {
        "rules": len(verdicts),
        "failed": [verdict.metric.rule for verdict in failed],
        "warnings": [str(verdict) for verdict in verdicts if not verdict.success and not verdict.blocks],
    }
    return Entry(part, "audit", table, "refused" if "why" in details else "done", rows, details=details)


def _unanswered(windows: Entry) -> Entry:
    """A query whose windows could not be answered is refused for the reason that stage gave."""
    return Entry(windows.slice, "audit", f"gold/{windows.subject}", "refused", 0, details=windows.details)
