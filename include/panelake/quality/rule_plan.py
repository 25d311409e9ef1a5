"""The default rules of one stream and its queries: which facts they need, and the metrics those give."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame

from panelake import tables
from panelake.language.query import WindowKind
from panelake.quality import bronze_rules, pane_rules, recompute
from panelake.quality.answer_rules import Answers, answer_metrics
from panelake.quality.blocking import blocking_metric
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.due_rules import DueRules
from panelake.quality.history_rules import history_metrics
from panelake.quality.metric import Metric
from panelake.stages.pane_sets import plan_of

KINDS: tuple[WindowKind, ...] = ("TS", "ROW")
Facts = Mapping[tuple[str, str], pa.Table]


class RulePlan:
    """All default rules of a stream's slice; its frames are collected together with other streams'."""

    def __init__(self, stream: StreamSlice, answers: tuple[Answers, ...]) -> None:
        self.stream = stream
        self._answers = answers
        self._plan = plan_of(stream.context, stream.name)
        self._due = {kind: DueRules(stream, self._plan, kind, answers) for kind in KINDS}
        self._samples = recompute.chosen(stream, answers)

    @cached_property
    def _pane_types(self) -> dict[str, str]:
        """The Spark types of the pane table's columns; none where no panes are stored."""
        if not tables.exists(self.stream.context.catalog.panes(self.stream.name)):
            return {}
        return {field.name: field.dataType.simpleString() for field in pane_rules.slice_panes(self.stream).schema}

    @cached_property
    def _totals(self) -> pane_rules.Totals:
        return pane_rules.totals_of([one.query for one in self._answers], self._pane_types)

    def frames(self) -> dict[str, DataFrame]:
        """The frames whose rows the metrics are made of."""
        context, name = self.stream.context, self.stream.name
        frames = {"bronze": bronze_rules.bronze_facts(self.stream)}
        if tables.exists(context.catalog.quarantine(name)):
            frames["quarantine"] = bronze_rules.quarantine_facts(self.stream)
        if self._totals.states:
            frames["tuples"] = pane_rules.tuple_facts(self.stream, self._totals)
            frames["panes"] = pane_rules.pane_facts(self.stream, self._totals)
        for kind, rules in self._due.items():
            frame = rules.facts()
            if frame is not None:
                frames[f"due {kind}"] = frame
        if self._samples:
            frames["recompute"] = recompute.recompute_facts(self.stream, self._samples)
        return frames

    def metrics(self, facts: Facts) -> list[Metric]:
        """The metrics, given what was collected of the frames."""
        mine = {name: rows for (stream, name), rows in facts.items() if stream == self.stream.name}
        metrics = bronze_rules.stream_metrics(self.stream, mine["bronze"], mine.get("quarantine"))
        metrics += history_metrics(self.stream, mine["bronze"]["newest"][0].as_py())
        if self._totals.states:
            metrics += pane_rules.pane_metrics(self.stream, self._plan, self._totals, mine["tuples"], mine["panes"])
        audits = self.stream.context.ledger.entries(stage="audit", subject=self.stream.table)
        for one in self._answers:
            metrics += [blocking_metric(self.stream, one, audits), *answer_metrics(one)]
        for kind, rules in self._due.items():
            metrics += rules.metrics(mine.get(f"due {kind}"))
        return metrics + recompute.recompute_metrics(self._answers, self._samples, mine.get("recompute"))
