"""Filters told: the order in force, what each drops and costs, what may not be moved and why, what the order saves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from panelake.context import Context
from panelake.filters import statistics
from panelake.filters.chain import Placed, can_move
from panelake.filters.memory import FilterMemory, Kind, Learned
from panelake.filters.statistics import FilterStatistics
from panelake.language.raising import placed
from panelake.language.stream_filters import lower_filters, placed_filters

_MICROSECOND = 1e-6


@dataclass(frozen=True)
class FilterChain:
    """A stream's `where` or a query's WHERE as it stands now, and the slices that learned its order."""

    kind: Kind
    name: str
    texts: tuple[str, ...]
    chain: tuple[Placed, ...]
    history: tuple[Learned, ...]

    @property
    def statistics(self) -> FilterStatistics:
        """What the next slice starts from."""
        return statistics.resume(self.history[-1].after if self.history else None, self.chain)

    @property
    def learned(self) -> tuple[Learned, ...]:
        """The slices that ran these very filters."""
        own = statistics.start(self.chain).conditions
        return tuple(known for known in self.history if tuple(known.after["conditions"]) == own)

    def why(self) -> str:
        """How the order came to be."""
        if len(self.chain) == 1:
            return "a single filter"
        if not can_move(self.chain):
            return "as written: none may be moved"
        known = self.statistics
        if not known.samples:
            return "as written: nothing is learned yet"
        return f"learned from samples of {known.samples:,} slice{'' if known.samples == 1 else 's'}"

    def document(self) -> dict[str, Any]:
        """The machine-readable form; figures that are not known are null."""
        known = self.statistics
        return {
            "kind": self.kind,
            "name": self.name,
            "why": self.why(),
            "filters": [self._filter(known, number) for number in known.order],
            "seconds_per_tuple": _figure(known.expected_cost()) if not math.isnan(known.costs.sum()) else None,
            "saved": _figure(known.saved()),
        }

    def _filter(self, known: FilterStatistics, number: int) -> dict[str, Any]:
        return {
            "filter": self.texts[number],
            "written": number + 1,
            "selectivity": _figure(known.selectivities[number]),
            "seconds": _figure(known.costs[number]),
            "fixed": self.chain[number].fixed,
        }


def filter_chains(context: Context) -> list[FilterChain]:
    """Every stream and every query that has filters."""
    workspace, memory = context.workspace, FilterMemory(context.catalog)
    found = []
    for name, stream in workspace.streams.items():
        filters = lower_filters(name, stream, workspace.python)
        found.append(
            _chain(memory, "stream", name, [one.text for one in filters], placed_filters(filters, stream.columns))
        )
    for query in workspace.queries.values():
        chain = placed(query.conditions, workspace.streams[query.stream].columns)
        found.append(_chain(memory, "query", query.name, query.conditions, chain))
    return [chain for chain in found if chain.chain]


def _chain(memory: FilterMemory, kind: Kind, name: str, texts: Sequence[str], chain: tuple[Placed, ...]) -> FilterChain:
    history = tuple(memory.history(kind, name)) if can_move(chain) else ()
    return FilterChain(kind, name, tuple(texts), chain, history)


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.4g}")


def cost_text(seconds: float | None) -> str:
    """What a filter costs a tuple, as a person reads it: 120 ns, 2.4 µs."""
    if seconds is None:
        return "–"
    return f"{seconds * 1e9:,.0f} ns" if seconds < _MICROSECOND else f"{seconds * 1e6:,.3g} µs"
