"""A pane set: one aggregation over a stream's tuples, by group keys and the panes of time, of rows or of both."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from panelake.aggregates import State, states_of
from panelake.kernels.window_spec import WindowSpec
from panelake.language.query import AggregateQuery, Window
from panelake.planning.cuts import Cuts
from panelake.planning.rules import Kind, Rule

Role = Literal["main", "sub"]


@dataclass(frozen=True)
class PaneSet:
    """What is grouped by and cut where, and the queries that read it.

    A set with cuts on both axes holds fragments: each lies in one pane of time and one pane of rows. A set that is not
    stored is made from bronze whenever it is read. `run`, where it is not 0, cuts panes into rows of so many tuples of
    the stream, so that no long sum of doubles is rounded at every step: rows of one pane are summed with the rounding
    kept. `why` tells how the planner came to it.
    """

    keys: tuple[str, ...]
    queries: tuple[AggregateQuery, ...]
    time: Cuts | None = None
    rows: Cuts | None = None
    role: Role = "main"
    kind: Kind = "AD"
    rule: Rule = "paper"
    stored: bool = True
    run: int = 0
    why: str = ""

    def __post_init__(self) -> None:
        if self.time is None and self.rows is None:
            raise ValueError(f"a pane set of {len(self.queries)} queries has no cuts; give cuts of time or of rows")

    @property
    def name(self) -> str:
        """The same for the same keys and cuts: panes of another plan are never mixed in."""
        axes = [[(grid.slide, grid.residue) for grid in axis.grids] if axis else [] for axis in (self.time, self.rows)]
        meaning = "\0".join((*self.keys, repr(axes)))
        return hashlib.sha256(meaning.encode()).hexdigest()[:16]

    @property
    def states(self) -> tuple[State, ...]:
        return tuple(dict.fromkeys(state for query in self.queries for state in states_of(query)))

    def cuts_for(self, query: AggregateQuery) -> Cuts:
        """The cuts of the axis the query's windows lie on."""
        cuts = self.time if query.window.kind == "TS" else self.rows
        if cuts is None:
            raise ValueError(f"pane set {self.name} has no cuts for the {query.window.kind} query {query.name}")
        return cuts


def window_spec(window: Window) -> WindowSpec:
    """Windows as the kernels number them: of time by their end, of rows by their start."""
    if window.kind == "ROW":
        return WindowSpec.over_rows(window.range, window.slide)
    return WindowSpec(window.range, window.slide, window.offset)


def key_column(expression: str) -> str:
    """The column that holds a group key, named by what it means."""
    return f"k_{hashlib.sha256(expression.encode()).hexdigest()[:16]}"


def key_expressions(query: AggregateQuery) -> tuple[str, ...]:
    """The query's group keys in a canonical order: GROUP BY a, b and b, a share panes."""
    return tuple(sorted({key.expression for key in query.keys}))
