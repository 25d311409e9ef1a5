"""A registered query as values: what the parser gives and the planner, stages and audits read.

Expressions are Spark SQL text generated from a checked syntax tree, never the user's own text.
Windows: TS in microseconds, [k·slide - range + offset, k·slide + offset); ROW in tuples, [i·slide, i·slide + range).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WindowKind = Literal["TS", "ROW"]


@dataclass(frozen=True)
class Window:
    """RANGE, SLIDE and OFFSET: microseconds for TS, tuples for ROW (offset 0)."""

    kind: WindowKind
    range: int
    slide: int
    offset: int = 0


@dataclass(frozen=True)
class GroupKey:
    """One GROUP BY expression, and the gold column it fills."""

    alias: str
    expression: str


@dataclass(frozen=True)
class AggregateCall:
    """One distinct aggregate of a query, such as sum(speed * 2); `argument` is None for count(*)."""

    function: str
    argument: str | None
    parameters: tuple[float | int, ...] = ()


@dataclass(frozen=True)
class Output:
    """One selected column: an expression over placeholders `_a0`, `_a1`, … (the query's calls) and key aliases."""

    alias: str
    expression: str


@dataclass(frozen=True)
class AggregateQuery:
    """SELECT keys, outputs FROM stream [window] WHERE conditions GROUP BY keys HAVING having.

    `conditions` are the conjuncts of WHERE, in the order written; a tuple counts if all are true.
    `outputs` lists the aggregate outputs only; keys are always columns of gold, selected or not.
    `having` is an expression over the same placeholders as `outputs`.
    """

    name: str
    file: str
    stream: str
    window: Window
    keys: tuple[GroupKey, ...]
    calls: tuple[AggregateCall, ...]
    outputs: tuple[Output, ...]
    conditions: tuple[str, ...] = ()
    having: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True)
class JoinStream:
    """One stream of a join under its alias, held for `range` microseconds.

    Expressions name a column as `alias/column`, one name: Spark takes a dot for a field. `keys` are the columns it is
    joined by, `columns` those that results carry; a tuple takes part if all `conditions` are true and no key is NULL.
    """

    alias: str
    stream: str
    range: int
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    conditions: tuple[str, ...] = ()

    def column(self, name: str) -> str:
        """The one name by which a join's expressions know a column."""
        return f"{self.alias}/{name}"


@dataclass(frozen=True)
class JoinQuery:
    """SELECT outputs FROM streams, each [range, common slide] WHERE keys are equal AND filters WITH (…).

    Times are microseconds. `key_types` are the Spark types in which keys are compared, one for each of a stream's
    `keys`. `every` (Te) says when the join runs and never changes what comes out. `memory` is rows a stream, None
    where nothing is shed, and `policy` decides what goes.
    """

    name: str
    file: str
    streams: tuple[JoinStream, ...]
    slide: int
    offset: int
    key_types: tuple[str, ...]
    outputs: tuple[Output, ...]
    filters: tuple[str, ...]
    every: int
    memory: int | None = None
    policy: str = ""
    fingerprint: str = ""

    @property
    def keys(self) -> tuple[GroupKey, ...]:
        """A join has no groups."""
        return ()

    @property
    def longest_range(self) -> int:
        return max(stream.range for stream in self.streams)

    @property
    def reads(self) -> tuple[str, ...]:
        """The streams it reads, each once."""
        return tuple(dict.fromkeys(stream.stream for stream in self.streams))
