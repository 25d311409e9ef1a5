"""The pane plan of a stream: its queries in pane sets, chosen by cost. Pure: queries and statistics in, values out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from panelake.durations import SECOND
from panelake.language.query import AggregateQuery
from panelake.planning.cost import LONGEST_SUM, SHARED_FROM, STORED_FROM, Cutting, cutting, group_rows
from panelake.planning.grouping import split
from panelake.planning.pane_set import PaneSet, key_expressions, window_spec
from panelake.planning.rules import classify

_ASSUMED_RATE = 1_000.0
_ASSUMED_GROUPS = 10
_SLOW = 1_000.0  # tuples a second below which storing panes costs nothing worth saving

Keys = tuple[str, ...]
Queries = tuple[AggregateQuery, ...]


@dataclass(frozen=True)
class Statistics:
    """How fast a stream is and how many groups each set of keys has; assumed until a slice was measured."""

    tuples_per_second: float = _ASSUMED_RATE
    groups: Mapping[Keys, int] = field(default_factory=dict)
    measured: bool = False

    def groups_of(self, keys: Keys) -> int:
        return max(1, self.groups.get(keys, _ASSUMED_GROUPS)) if keys else 1

    def panes_per_tuple(self, pane_set: PaneSet) -> float:
        """Panes, whatever their group, per tuple; every cut of either axis begins one."""
        rows = float(pane_set.rows.density) if pane_set.rows else 0.0
        units = float(pane_set.time.density) * SECOND / self.tuples_per_second if pane_set.time else 0.0
        return min(1.0, rows + units)

    def rows_per_tuple(self, pane_set: PaneSet) -> float:
        """Expected rows of the set per tuple, all groups."""
        return group_rows(self.panes_per_tuple(pane_set), self.groups_of(pane_set.keys))


@dataclass(frozen=True)
class Plan:
    """A stream's pane sets, smallest panes first, and the statistics they were chosen by."""

    stream: str
    sets: tuple[PaneSet, ...]
    statistics: Statistics

    @property
    def time_unit(self) -> int | None:
        """The paper's time unit: the gcd of all time windows' ranges and slides, in microseconds."""
        windows = [q.window for pane_set in self.sets for q in pane_set.queries if q.window.kind == "TS"]
        return math.gcd(*(length for window in windows for length in (window.range, window.slide))) if windows else None

    def set_of(self, query: str) -> PaneSet:
        for pane_set in self.sets:
            if any(member.name == query for member in pane_set.queries):
                return pane_set
        raise KeyError(query)


def build_plan(stream: str, queries: Iterable[AggregateQuery], statistics: Statistics | None = None) -> Plan:
    """The plan for a stream's queries: sets of keys apart, in each the split that costs least."""
    known = statistics or Statistics()
    by_keys: dict[Keys, list[AggregateQuery]] = {}
    for query in queries:
        by_keys.setdefault(key_expressions(query), []).append(query)
    sets = [made for keys, members in by_keys.items() for made in _sets_of_keys(keys, tuple(members), known)]
    cut = [replace(made, run=_run(made, known)) for made in sets]
    return Plan(stream, tuple(sorted(cut, key=lambda made: -known.panes_per_tuple(made))), known)


def _run(made: PaneSet, known: Statistics) -> int:
    """Tuples of the stream that one row of a long pane takes, all groups together; 0 where panes are short enough."""
    is_summed = any(state.kind in ("sum", "mean", "m2") for state in made.states)
    is_long = 1 / known.rows_per_tuple(made) > LONGEST_SUM
    return LONGEST_SUM * known.groups_of(made.keys) if is_summed and is_long else 0


def _sets_of_keys(keys: Keys, queries: Queries, known: Statistics) -> list[PaneSet]:
    timed = tuple(query for query in queries if query.window.kind == "TS")
    groups = _row_groups(keys, tuple(query for query in queries if query.window.kind == "ROW"))
    if not timed:
        return [_kept_or_bypassed(made, known) for made in _with_main(groups)]
    time = _time_set(keys, timed)
    if not groups:
        return [_kept_or_bypassed(time, known)]
    largest = groups[-1]
    shared = _shared(time, largest)
    if 1 / known.rows_per_tuple(shared) >= SHARED_FROM:
        return [*(_kept_or_bypassed(made, known) for made in groups[:-1]), shared]
    apart = f"apart: fragments of both would hold {_tuples(shared, known)} tuples each, fewer than {SHARED_FROM:g}"
    return [_kept_or_bypassed(replace(made, why=apart), known) for made in (*groups, time)]


def _row_groups(keys: Keys, queries: Queries) -> list[PaneSet]:
    """Row panes only, each a sub group, the one with the largest panes last."""
    made = []
    for group in split([window_spec(query.window) for query in queries]):
        members = tuple(query for query in queries if window_spec(query.window) in group)
        cut = _cutting(members)
        kind = classify([window_spec(query.window) for query in members])
        made.append(PaneSet(keys, members, rows=cut.cuts, role="sub", kind=kind, rule=cut.rule))
    return sorted(made, key=lambda pane_set: -_density(pane_set))


def _density(pane_set: PaneSet) -> float:
    return float(pane_set.rows.density) if pane_set.rows else 0.0


def _time_set(keys: Keys, queries: Queries) -> PaneSet:
    cut = _cutting(queries)
    kind = classify([window_spec(query.window) for query in queries])
    return PaneSet(keys, queries, time=cut.cuts, kind=kind, rule=cut.rule)


def _cutting(queries: Queries) -> Cutting:
    windows = {window_spec(query.window) for query in queries}
    return cutting(tuple(sorted(windows, key=lambda window: (window.range, window.slide, window.shift))))


def _shared(time: PaneSet, rows: PaneSet) -> PaneSet:
    why = "shared: time and row windows read the same fragments"
    queries = time.queries + rows.queries
    return PaneSet(time.keys, queries, time.time, rows.rows, kind=rows.kind, rule=rows.rule, why=why)


def _with_main(groups: Sequence[PaneSet]) -> list[PaneSet]:
    """Without time windows the group with the largest panes is the main group."""
    return [*groups[:-1], replace(groups[-1], role="main")]


def _kept_or_bypassed(made: PaneSet, known: Statistics) -> PaneSet:
    if known.tuples_per_second < _SLOW or 1 / known.rows_per_tuple(made) >= STORED_FROM:
        return made
    why = f"bypassed: a pane row would hold {_tuples(made, known)} tuples; windows are answered from bronze"
    return replace(made, stored=False, why=why)


def _tuples(pane_set: PaneSet, known: Statistics) -> str:
    return f"{1 / known.rows_per_tuple(pane_set):.2g}"
