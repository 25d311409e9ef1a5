"""Rules of a join's staged results: each combination once, inside its window, and as many as there must be.

How many combinations a slice brings is counted without joining: of a key and a window it is the product of the
streams' tuples, less the product of those older than the window's last period, less the same without the slice's own
tuples. Where windows overlap much or there are many tuples, that is done for a sample of keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import mul, or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.gold import END
from panelake.language.query import JoinQuery
from panelake.ledger import Entry
from panelake.quality.blocking import has_passed
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row, Severity, equal, none
from panelake.slices import Slice
from panelake.spark.join_worker import KEY, OWN, SEQ, STREAM, TS, numbered
from panelake.stages.join_tuples import JoinReach, read_tuples
from panelake.staging import digest, join_results, open_parquet

_MOST_COUNTED = 5_000_000  # rows of (tuple, window); beyond that a sample of keys is counted
_WINDOW = "_window"
_LEAST_ACCURACY = 0.5  # warns below, unless the workspace sets a floor


@dataclass(frozen=True)
class JoinAnswers:
    """A join's staged results of one slice, what the join stage recorded of them, and what it had read."""

    context: Context
    query: JoinQuery
    part: Slice
    joined: Entry
    reach: JoinReach

    @property
    def table(self) -> str:
        return f"gold/{self.query.name}"

    @cached_property
    def folder(self) -> str:
        return join_results(self.context.catalog.staged_join(self.query.name, self.part), self.joined.details)

    @cached_property
    def digest(self) -> str:
        files = open_parquet(self.folder)
        return digest([] if files is None else files.files)

    @cached_property
    def rows(self) -> DataFrame:
        return self.context.spark.read.parquet(self.folder)

    @property
    def is_exact(self) -> bool:
        """Whether every combination of equal keys must be there: nothing was shed, and no condition drops matches."""
        return not self.joined.details.get("sheds") and not self.query.filters

    @cached_property
    def sampled(self) -> int:
        """One key in so many is counted."""
        tuples = sum(one.end - one.first for name in self.query.reads for one in self.reach.slices_of(name))
        windows = 1 + self.query.longest_range // self.query.slide
        return max(1, -(-tuples * windows * len(self.query.streams) // (_MOST_COUNTED * len(self.query.reads))))

    def is_sampled(self) -> Column:
        return F.pmod(F.col(KEY), F.lit(self.sampled)) == 0


def join_frames(answers: JoinAnswers) -> dict[str, DataFrame]:
    """What the rules need of the staged results and of bronze, each a frame of one row."""
    return {"staged": _staged_facts(answers), "due": _due_facts(answers)}


def join_metrics(
    answers: JoinAnswers, facts: Mapping[str, pa.Table], audits: Mapping[str, Sequence[Entry]]
) -> list[Metric]:
    """The metrics of one join's results."""
    staged = {name: facts["staged"][name][0].as_py() or 0 for name in facts["staged"].column_names}
    due = int(facts["due"]["due"][0].as_py() or 0)
    return [
        equal(answers.table, "rows_staged", staged["rows"], answers.joined.rows),
        _unique(answers, staged["rows"] - staged["combinations"]),
        _inside(answers, staged["outside"]),
        _results_due(answers, staged["sampled"], due),
        _reads_passed(answers, audits),
        *_accuracy(answers),
    ]


def _staged_facts(answers: JoinAnswers) -> DataFrame:
    if open_parquet(answers.folder) is None:
        zeros = [F.lit(0).cast("bigint").alias(name) for name in ("rows", "combinations", "outside", "sampled")]
        return answers.context.spark.range(1).select(*zeros)
    numbers = [F.col(numbered(SEQ, stream.alias)) for stream in answers.query.streams]
    return answers.rows.agg(
        F.count(F.lit(1)).alias("rows"),
        F.count_distinct(F.struct(*numbers)).alias("combinations"),
        F.count_if(_outside(answers.query)).alias("outside"),
        F.count_if(answers.is_sampled()).alias("sampled"),
    )


def _outside(query: JoinQuery) -> Column:
    """Whether a tuple lies outside its window, or none in the window's last period."""
    end = F.unix_micros(END)
    times = [F.col(numbered(TS, stream.alias)) for stream in query.streams]
    beyond = [(time >= end) | (time < end - one.range) for time, one in zip(times, query.streams, strict=True)]
    return (
        reduce(or_, beyond)
        | (F.greatest(*times) < end - query.slide)
        | (F.pmod(end, F.lit(query.slide)) != query.offset)
    )


def _due_facts(answers: JoinAnswers) -> DataFrame:
    """How many combinations the slice must have, before conditions on matches."""
    return _due_by_window(answers).agg(F.sum("due").alias("due"))


def _sampled_tuples(answers: JoinAnswers) -> DataFrame:
    return read_tuples(answers.context, answers.reach).where(answers.is_sampled()).select(TS, STREAM, KEY, OWN, SEQ)


def _due_by_window(answers: JoinAnswers) -> DataFrame:
    """The same by key and window."""
    query = answers.query
    windows = (
        _sampled_tuples(answers)
        .withColumn("_first", _window_after(query, F.col(TS)))
        .withColumn("_last", _last_window(query))
    )
    spread = windows.where("_first <= _last").withColumn(_WINDOW, F.explode(F.sequence("_first", "_last")))
    older = F.col(TS) < (F.col(_WINDOW) - 1) * query.slide + query.offset
    counts = [
        F.count_if((F.col(STREAM) == place) & condition).cast("double").alias(f"n{place}_{number}")
        for number, condition in enumerate(_populations(older))
        for place in range(len(query.streams))
    ]
    of_window = spread.groupBy(KEY, _WINDOW).agg(*counts)
    product = [reduce(mul, (F.col(f"n{place}_{n}") for place in range(len(query.streams)))) for n in range(4)]
    return of_window.select(KEY, (product[0] - product[1] - product[2] + product[3]).alias("due"))


def _populations(older: Column) -> list[Column]:
    """All tuples of a window, those before its last period, and the same without the slice's own."""
    other = ~F.col(OWN)
    return [F.lit(True), older, other, other & older]  # noqa: FBT003 - Spark's signature


def _window_after(query: JoinQuery, time: Column) -> Column:
    """The least k with time < k·slide + offset."""
    past = time - query.offset
    return F.call_function("div", past - F.pmod(past, F.lit(query.slide)), F.lit(query.slide)) + 1


def _last_window(query: JoinQuery) -> Column:
    """The greatest k whose window still holds the tuple."""
    extent = F.lit(0)
    for place, stream in enumerate(query.streams):
        extent = F.when(F.col(STREAM) == place, F.lit(stream.range)).otherwise(extent)
    return _window_after(query, F.col(TS) + extent) - 1


def _unique(answers: JoinAnswers, twice: int) -> Metric:
    names = [numbered(SEQ, stream.alias) for stream in answers.query.streams]

    def sample() -> list[Row]:
        groups = answers.rows.groupBy(*names).count().where("count > 1").limit(SAMPLE_ROWS)
        return [row.asDict() for row in groups.collect()]

    return none(answers.table, "unique_combinations", twice, f"({', '.join(names)}) is unique", sample)


def _inside(answers: JoinAnswers, outside: int) -> Metric:
    def sample() -> list[Row]:
        return [row.asDict() for row in answers.rows.where(_outside(answers.query)).limit(SAMPLE_ROWS).collect()]

    expected = "every tuple lies in its stream's window and the newest in the window's last period"
    return none(answers.table, "inside_windows", outside, expected, sample)


def _results_due(answers: JoinAnswers, staged: int, due: int) -> Metric:
    """Exactly those counted; at most those where some may be shed or dropped by conditions on matches."""
    which = "" if answers.sampled == 1 else f" of one key in {answers.sampled}"
    low = due if answers.is_exact else 0
    expected = f"{due}{which}" if answers.is_exact else f"at most {due}{which}"
    return Metric(answers.table, "results_due", staged, low, due, expected, lambda: _results_sample(answers))


def _results_sample(answers: JoinAnswers) -> list[Row]:
    """Keys with another number of results than due, each with its first tuple of every stream in reach."""
    due = _due_by_window(answers).groupBy(KEY).agg(F.sum("due").cast("bigint").alias("due"))
    firsts = [
        F.min(F.when(F.col(STREAM) == place, F.col(SEQ))).alias(numbered(SEQ, stream.alias))
        for place, stream in enumerate(answers.query.streams)
    ]
    both = due.join(_staged_by_key(answers), KEY, "full").fillna(0, ["due", "staged"])
    wrong = both.where(F.col("due") != F.col("staged") if answers.is_exact else F.col("due") < F.col("staged"))
    shown = wrong.join(_sampled_tuples(answers).groupBy(KEY).agg(*firsts), KEY, "left").orderBy(KEY)
    rows: list[Row] = shown.limit(SAMPLE_ROWS).toArrow().to_pylist()
    return rows


def _staged_by_key(answers: JoinAnswers) -> DataFrame:
    if open_parquet(answers.folder) is None:
        return answers.context.spark.range(0).select(F.col("id").alias(KEY), F.lit(0).cast("bigint").alias("staged"))
    return answers.rows.where(answers.is_sampled()).groupBy(KEY).agg(F.count(F.lit(1)).alias("staged"))


def _reads_passed(answers: JoinAnswers, audits: Mapping[str, Sequence[Entry]]) -> Metric:
    """The other slices in reach whose stream did not pass."""
    part = answers.part
    blocking = [
        {"stream": name, "slice": one.slice.name}
        for name in answers.query.reads
        for one in answers.reach.slices_of(name)
        if not (part.start <= one.slice.start and one.slice.end <= part.end) and not has_passed(one.slice, audits[name])
    ]
    expected = f"every slice of {', '.join(answers.query.reads)} in reach passed its audit: run those again first"
    return none(answers.table, "reads_passed_slices", len(blocking), expected, lambda: list(blocking[:SAMPLE_ROWS]))


def _accuracy(answers: JoinAnswers) -> list[Metric]:
    """Of a slice that shed, the estimated share of its results that are there; only a floor that was set blocks."""
    details, floor = answers.joined.details, answers.context.workspace.least_accuracy
    if not details.get("sheds"):
        return []
    least = _LEAST_ACCURACY if floor is None else floor
    expected = f"at least {least:g} of the results, by estimate; panelake repair joins the slice again without limit"

    def sample() -> list[Row]:
        return [{"stream": alias, **counts} for alias, counts in details.get("shed_by", {}).items()]

    severity: Severity = "warning" if floor is None else "blocking"
    return [Metric(answers.table, "accuracy", details["estimated_accuracy"], least, 1, expected, sample, severity)]
