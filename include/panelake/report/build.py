"""Builds the report: reads what the tables hold, with bounds on all of it, and writes the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from panelake.catalog import Catalog
from panelake.context import Context
from panelake.filters.explained import filter_chains
from panelake.numbers import Numbers
from panelake.pane_plan import plan_of
from panelake.report.answers import newest_rows
from panelake.report.assets import assets
from panelake.report.continuity import continuity
from panelake.report.data_docs import docs_of
from panelake.report.filter_page import FILTERS_PAGE, filter_page
from panelake.report.heat_maps import page_of
from panelake.report.history import SliceFacts, read_history
from panelake.report.join_page import join_page
from panelake.report.pages import overview, slice_page, stream_page
from panelake.report.pane_picture import pane_picture
from panelake.report.papers_page import PAPERS_PAGE, papers, papers_page
from panelake.report.quarantine import reasons
from panelake.report.query_page import MOST_ANSWERS, query_page
from panelake.report.site import DATA_DOCS, INDEX, pages_in, write_site
from panelake.report.verdicts import rule_results
from panelake.slices import Slice, to_microseconds
from panelake.workspace import Workspace

DETAILED = 100  # the newest slices, each with a page of its own
DRAWN_ROWS = 20_000  # a query's newest answers, for its charts
REFUSED_KEPT = 20  # older slices that were refused keep theirs


@dataclass(frozen=True)
class Built:
    """Where the report's first page is, and how many pages there are."""

    path: str
    pages: int


def build_report(context: Context, built_at: int | None = None) -> Built:
    """Draw every page anew; `built_at` (microseconds) is the one thing taken from the clock."""
    now = to_microseconds(datetime.now(UTC)) if built_at is None else built_at
    workspace, catalog = context.workspace, context.catalog
    history = read_history(catalog)
    paged = with_pages(history)
    kept = {facts.slice for facts in paged}
    measured = papers()
    pages = {INDEX: str(overview(workspace, history, DETAILED, kept, now, papers=measured is not None))}
    pages |= _slice_pages(workspace, catalog, paged)
    pages |= _query_pages(context, history[-DETAILED:])
    pages |= _stream_pages(workspace, catalog, history[-DETAILED:])
    pages |= {PAPERS_PAGE: str(papers_page(workspace, measured))} if measured else {}
    chains = filter_chains(context)
    pages |= {FILTERS_PAGE: str(filter_page(workspace, chains))} if chains else {}
    return Built(write_site(catalog.report, pages | assets()), len(pages))


def with_pages(history: Sequence[SliceFacts]) -> list[SliceFacts]:
    """The slices that have a page: the newest, and of the older ones those last refused."""
    refused = [facts for facts in history[:-DETAILED] if facts.quality == "refused"]
    return [*refused[-REFUSED_KEPT:], *history[-DETAILED:]]


def _slice_pages(workspace: Workspace, catalog: Catalog, paged: Sequence[SliceFacts]) -> dict[str, str]:
    parts = [facts.slice for facts in paged]
    rules = rule_results(catalog.quality, parts)
    documented = pages_in(catalog.report, DATA_DOCS)
    around: list[Slice | None] = [None, *parts, None]
    pages = {}
    for place, facts in enumerate(paged):
        docs = docs_of(facts.slice) if docs_of(facts.slice) in documented else None
        neighbours = (around[place], around[place + 2])
        pages[page_of(facts.slice)] = str(slice_page(workspace, facts, rules[facts.slice], neighbours, docs))
    return pages


def _query_pages(context: Context, shown: Sequence[SliceFacts]) -> dict[str, str]:
    workspace, catalog = context.workspace, context.catalog
    plans = {name: plan_of(context, name) for name in workspace.streams}
    pages = {}
    for query in workspace.queries.values():
        rows = newest_rows(catalog.gold(query.name), query, DRAWN_ROWS)
        panes = pane_picture(plans[query.stream], query)
        pages[f"query/{query.name}.html"] = str(query_page(workspace, query, shown, panes, rows))
    for join in workspace.joins.values():
        rows = newest_rows(catalog.gold(join.name), join, MOST_ANSWERS)
        pages[f"query/{join.name}.html"] = str(join_page(workspace, join, shown, rows))
    return pages


def _stream_pages(workspace: Workspace, catalog: Catalog, shown: Sequence[SliceFacts]) -> dict[str, str]:
    numbers = Numbers(catalog)
    pages = {}
    for name in workspace.streams:
        why = reasons(catalog.quarantine(name), name, shown)
        given = continuity(numbers.taken(name))
        pages[f"stream/{name}.html"] = str(stream_page(workspace, name, shown, why, given))
    return pages
