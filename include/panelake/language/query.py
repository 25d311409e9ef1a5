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
