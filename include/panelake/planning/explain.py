"""A plan told: which queries share which panes, what is stored and read, and what sharing saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from panelake.durations import SECOND, format_duration
from panelake.language.query import AggregateQuery
from panelake.planning.cuts import Cuts
from panelake.planning.pane_set import PaneSet, window_spec
from panelake.planning.plan import Plan

_MILLION = 1_000_000
_WINDOWS_COUNTED = 64


@dataclass(frozen=True)
class Explained:
    """A plan in figures; those per million tuples follow from the statistics it was made by."""

    plan: Plan

    def document(self) -> dict[str, Any]:
        """The machine-readable form."""
        plan = self.plan
        return {
            "stream": plan.stream,
            "time_unit": None if plan.time_unit is None else _seconds(plan.time_unit),
            "groups": [self._group(pane_set) for pane_set in plan.sets],
            "queries": [self._query(pane_set, query) for pane_set in plan.sets for query in pane_set.queries],
            "stored_per_million": _number(sum(self.stored(pane_set) for pane_set in plan.sets)),
            "read_per_million": _number(sum(self.read(pane_set) for pane_set in plan.sets)),
            "saving": round(self.saving(), 4),
            "statistics": self._statistics(),
        }

    def stored(self, pane_set: PaneSet) -> float:
        """Panes begun by a million tuples, whatever their groups; none where the set is not stored."""
        return _MILLION * self.plan.statistics.panes_per_tuple(pane_set) if pane_set.stored else 0.0

    def read(self, pane_set: PaneSet) -> float:
        """Panes that the windows of a million tuples are made of."""
        return sum(self._windows(query) * panes_per_window(pane_set, query) for query in pane_set.queries)

    def saving(self) -> float:
        """The share of work saved against every query aggregating every tuple once for each window that holds it."""
        queries = [query for pane_set in self.plan.sets for query in pane_set.queries]
        alone = sum(_MILLION * query.window.range / query.window.slide for query in queries)
        shared = sum(_MILLION + self.read(pane_set) for pane_set in self.plan.sets)
        return 1 - shared / alone if alone else 0.0

    def _windows(self, query: AggregateQuery) -> float:
        """Windows that a million tuples complete."""
        if query.window.kind == "ROW":
            return _MILLION / query.window.slide
        return _MILLION / self.plan.statistics.tuples_per_second * SECOND / query.window.slide

    def _group(self, pane_set: PaneSet) -> dict[str, Any]:
        statistics = self.plan.statistics
        return {
            "name": pane_set.name,
            "role": pane_set.role,
            "kind": pane_set.kind,
            "rule": pane_set.rule,
            "keys": list(pane_set.keys),
            "queries": [query.name for query in pane_set.queries],
            "cuts": _cuts(pane_set.rows),
            "sizes": list(pane_set.rows.sizes()) if pane_set.rows else [],
            "time_cuts": _cuts(pane_set.time),
            "time_sizes": [_seconds(size) for size in pane_set.time.sizes()] if pane_set.time else [],
            "stored": pane_set.stored,
            "why": pane_set.why,
            "stored_per_million": _number(self.stored(pane_set)),
            "read_per_million": _number(self.read(pane_set)),
            "tuples_per_pane_row": round(1 / statistics.rows_per_tuple(pane_set), 2),
        }

    def _query(self, pane_set: PaneSet, query: AggregateQuery) -> dict[str, Any]:
        return {
            "name": query.name,
            "window": window_text(query),
            "group": pane_set.name,
            "panes_per_window": _number(panes_per_window(pane_set, query)),
        }

    def _statistics(self) -> dict[str, Any]:
        known = self.plan.statistics
        groups = {", ".join(pane_set.keys): known.groups_of(pane_set.keys) for pane_set in self.plan.sets}
        return {"measured": known.measured, "tuples_per_second": known.tuples_per_second, "groups": groups}


def panes_per_window(pane_set: PaneSet, query: AggregateQuery) -> float:
    """Panes in a window, on average over its first windows where they differ."""
    window, cuts = window_spec(query.window), pane_set.cuts_for(query)
    counts = [cuts.count(window.start(k), window.end(k)) for k in range(_WINDOWS_COUNTED)]
    return sum(counts) / len(counts)


def window_text(query: AggregateQuery) -> str:
    """A window as a person writes it: ROW 200 / 50, TS 3 minutes / 1 minute."""
    window = query.window
    if window.kind == "ROW":
        return f"ROW {window.range:,} / {window.slide:,}"
    offset = f" + {format_duration(window.offset)}" if window.offset else ""
    return f"TS {format_duration(window.range)} / {format_duration(window.slide)}{offset}"


def _cuts(cuts: Cuts | None) -> list[dict[str, int]]:
    return [{"slide": grid.slide, "residue": grid.residue} for grid in cuts.grids] if cuts else []


def _number(value: float) -> int | float:
    """Whole numbers as such, others to four digits."""
    return int(value) if value == int(value) else round(value, 4)


def _seconds(microseconds: int) -> int | float:
    """Exact: a pane may be shorter than four digits tell."""
    whole, rest = divmod(microseconds, SECOND)
    return microseconds / SECOND if rest else whole
