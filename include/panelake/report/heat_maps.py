"""Heat maps of verdicts: a row a table, a square a slice; the same as a table for readers without scripts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from panelake.report import words
from panelake.report.embedded import embedded_json
from panelake.report.history import SliceFacts
from panelake.report.templating import render
from panelake.report.verdicts import Verdict, worst
from panelake.slices import Slice

Kind = Literal["passed", "warned", "refused", "unaudited", "missing"]
MOST_TABLES = 60
WHOLE = "whole slice"


@dataclass(frozen=True)
class Column:
    """A slice, or a stretch without any: what it is called, and the page it leads to."""

    label: str
    facts: SliceFacts | None
    link: str | None = None


@dataclass(frozen=True)
class TableRow:
    """A slice with the verdict of each table, as the table below the map has it."""

    label: str
    link: str | None
    kinds: tuple[Kind, ...]


def page_of(part: Slice) -> str:
    """The path of a slice's page."""
    return f"slice/{part.folder}.html"


def overview_map(shown: Sequence[SliceFacts], pages: Collection[Slice]) -> Markup:
    """The slices as a whole first, then each of their tables."""
    names = sorted({name for facts in shown for name in facts.tables})[:MOST_TABLES]
    return _heat_map("Verdict of each slice and table", [WHOLE, *names], shown, pages, "")


def tables_map(shown: Sequence[SliceFacts], tables: Sequence[str]) -> Markup | None:
    """The verdicts of those tables that have any, for a page in a folder; every slice shown has a page."""
    pages = {facts.slice for facts in shown}
    names = [name for name in tables if any(name in facts.tables for facts in shown)]
    title = f"Verdict of {', '.join(names)} in each slice"
    return _heat_map(title, names, shown, pages, "../") if names else None


def _heat_map(
    title: str, names: Sequence[str], shown: Sequence[SliceFacts], pages: Collection[Slice], root: str
) -> Markup:
    columns = _columns(shown, pages, root)
    rows = [TableRow(one.label, one.link, tuple(_kind(one, name) for name in names)) for one in columns]
    squares = embedded_json(_squares(rows))
    return render("heat_map.html", title=title, names=names, squares=squares, rows=rows)


def _columns(shown: Sequence[SliceFacts], pages: Collection[Slice], root: str) -> list[Column]:
    columns: list[Column] = []
    before: Slice | None = None
    for facts in shown:
        if before is not None and facts.slice.start > before.end:
            columns.append(Column(f"{words.instant(before.end)} to {words.instant(facts.slice.start)}", None))
        link = f"{root}{page_of(facts.slice)}" if facts.slice in pages else None
        columns.append(Column(words.instant(facts.slice.start), facts, link))
        before = facts.slice
    return columns


def _kind(column: Column, name: str) -> Kind:
    facts = column.facts
    if facts is None:
        return "missing"
    return (facts.quality if name == WHOLE else facts.tables.get(name)) or "unaudited"


def _squares(rows: Sequence[TableRow]) -> dict[str, Any]:
    """What the script draws: a letter a square; labels and links it reads from the table."""
    return {"kinds": ["".join(kind[0] for kind in row.kinds) for row in rows]}


def standing(shown: Iterable[SliceFacts]) -> Verdict:
    """The worst verdict of the slices shown."""
    return worst((facts.quality for facts in shown if facts.quality is not None), "passed")
