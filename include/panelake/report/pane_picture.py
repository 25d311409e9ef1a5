"""A picture of shared panes: where a stream is cut, and which windows of which queries are made of the pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from markupsafe import Markup

from panelake.language.query import AggregateQuery
from panelake.planning.cuts import Cuts
from panelake.planning.explain import Explained, window_text
from panelake.planning.pane_set import PaneSet, window_spec
from panelake.planning.plan import Plan
from panelake.report import words
from panelake.report.templating import render

MOST_PANES = 96
MOST_QUERIES = 8
WINDOWS_DRAWN = 3
WIDTH = 1000


@dataclass(frozen=True)
class Piece:
    """A stretch of the picture; `cuts` are the places where panes meet within it."""

    x: float
    width: float
    cuts: tuple[float, ...] = ()


@dataclass(frozen=True)
class QueryRow:
    """A query and the first of its windows."""

    name: str
    window: str
    panes: str
    pieces: tuple[Piece, ...]


def pane_picture(plan: Plan, query: AggregateQuery) -> Markup:
    """The panes that the query reads, and the queries it shares them with."""
    pane_set = plan.set_of(query.name)
    cuts = pane_set.cuts_for(query)
    sharing = _sharing(pane_set, query)
    end = _horizon(cuts, sharing)
    document = Explained(plan).document()
    return render(
        "panes.html",
        plan=document,
        keys=[key.alias for key in query.keys],
        group=_named(document["groups"], pane_set.name),
        panes=_pieces(list(cuts.starts_in(0, end)), end),
        rows=[_row(one, cuts, end, document) for one in sharing[:MOST_QUERIES]],
        sharing=len(sharing),
        end=words.duration(end) if query.window.kind == "TS" else f"{end:,} tuples",
        width=WIDTH,
        root="../",
    )


def _sharing(pane_set: PaneSet, query: AggregateQuery) -> list[AggregateQuery]:
    """The query, then those that read the same panes of time or of rows."""
    others = [one for one in pane_set.queries if one.window.kind == query.window.kind and one.name != query.name]
    return [query, *others]


def _horizon(cuts: Cuts, queries: Sequence[AggregateQuery]) -> int:
    """Far enough to show windows, not so far that panes become too thin to see."""
    wanted = max(query.window.range + WINDOWS_DRAWN * query.window.slide for query in queries)
    reach = list(islice(cuts.starts_in(0, wanted), MOST_PANES + 1))
    return reach[-1] if len(reach) > MOST_PANES else wanted


def _pieces(starts: Sequence[int], end: int) -> list[Piece]:
    edges = sorted({0, *starts, end})
    return [Piece(_place(low, end), _place(high - low, end)) for low, high in pairwise(edges)]


def _row(query: AggregateQuery, cuts: Cuts, end: int, document: dict[str, Any]) -> QueryRow:
    panes = _named(document["queries"], query.name)["panes_per_window"]
    return QueryRow(query.name, window_text(query), words.number(panes), _windows(query, cuts, end))


def _windows(query: AggregateQuery, cuts: Cuts, end: int) -> tuple[Piece, ...]:
    """The first windows that begin in the picture, as far as it reaches."""
    window = window_spec(query.window)
    first = window.first_with(window.range - 1)
    bounds = [(window.start(k), min(window.end(k), end)) for k in range(first, first + WINDOWS_DRAWN)]
    return tuple(_piece(low, high, cuts, end) for low, high in bounds if low < high)


def _piece(low: int, high: int, cuts: Cuts, end: int) -> Piece:
    inside = tuple(_place(cut, end) for cut in cuts.starts_in(low + 1, high))
    return Piece(_place(low, end), _place(high - low, end), inside)


def _place(position: int, end: int) -> float:
    return round(WIDTH * position / end, 2)


def _named(found: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(one for one in found if one["name"] == name)
