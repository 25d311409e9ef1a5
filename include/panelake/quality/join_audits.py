"""The joins of a slice as the audit takes them: which have results, what is asked of these, what users expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from panelake.context import Context
from panelake.errors import BadInputError
from panelake.ledger import Entry
from panelake.quality import own_checks
from panelake.quality.gate import Witness
from panelake.quality.join_rules import JoinAnswers, join_frames, join_metrics
from panelake.quality.metric import Metric, Verdict
from panelake.slices import Slice
from panelake.stages.join_tuples import reach_of
from panelake.staging import open_parquet

_MOST_OWN_ROWS = 1_000_000  # users' expectations are checked in this process


@dataclass(frozen=True)
class JoinAudits:
    """Joins with staged results, and the entries of those that have none."""

    context: Context
    answers: tuple[JoinAnswers, ...]
    unanswered: tuple[Entry, ...]

    def frames(self) -> dict[tuple[str, str], DataFrame]:
        """By table and part."""
        return {(one.table, name): frame for one in self.answers for name, frame in join_frames(one).items()}

    def metrics(self, facts: Mapping[tuple[str, str], pa.Table]) -> list[Metric]:
        """The default rules of every join."""
        metrics = []
        for one in self.answers:
            mine = {name: rows for (table, name), rows in facts.items() if table == one.table}
            ledger = self.context.ledger
            audits = {name: ledger.entries(stage="audit", subject=f"bronze/{name}") for name in one.query.reads}
            metrics += join_metrics(one, mine, audits)
        return metrics

    def own_verdicts(self, witness: Witness) -> list[Verdict]:
        """What users' own expectations say of the results."""
        verdicts: list[Verdict] = []
        for one in self.answers:
            rules = [rule for rule in self.context.workspace.own_rules if rule.table == one.table]
            if rules:
                numbers = [f"_seq_{stream.alias}" for stream in one.query.streams]
                verdicts += own_checks.validated(rules, _rows(one).to_pandas(), numbers, witness)
        return verdicts


def _rows(one: JoinAnswers) -> pa.Table:
    if one.joined.rows > _MOST_OWN_ROWS:
        raise BadInputError(
            f"query {one.query.name}, slice {one.part}: {one.joined.rows:,} results are more than own expectations"
            f" can be checked on ({_MOST_OWN_ROWS:,}); remove them, or narrow the join"
        )
    staged = open_parquet(one.folder)
    if staged is None:
        raise BadInputError(f"query {one.query.name}, slice {one.part}: nothing is staged; run the stage join first")
    return staged.to_table()


def joins_to_audit(context: Context, part: Slice, mine: Mapping[tuple[str, str], Entry]) -> JoinAudits:
    """The joins of the slice, by what the join stage recorded."""
    answers, unanswered = [], []
    entries = context.ledger.entries() if context.workspace.joins else []
    for query in context.workspace.joins.values():
        joined = mine.get(("join", query.name))
        if joined is None:
            raise BadInputError(f"{query.name}, slice {part}: the stage join is not done yet; run it before the audit")
        if joined.status == "refused":
            unanswered.append(joined)
        else:
            reach = reach_of(query, part, entries, later=query.memory is None)
            answers.append(JoinAnswers(context, query, part, joined, reach))
    return JoinAudits(context, tuple(answers), tuple(unanswered))
