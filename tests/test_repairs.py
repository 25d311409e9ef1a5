"""Ranges that joins may lack: what stays of them as slices are repaired."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from panelake.catalog import Catalog
from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.language.parser import parse_any_query
from panelake.language.query import JoinQuery
from panelake.ledger import Entry, Ledger
from panelake.repairs import mark_for_repair, pending_repairs, settle, without
from panelake.slices import Slice

PARTS = [Slice(n * 10, n * 10 + 10) for n in range(5)]
SCHEMAS = {name: {"k": "int", "ts": "timestamp"} for name in "ab"}
W = "[RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS]"
TEXT = f"SELECT a.k {'FROM'} a {W}, b {W} WHERE a.k = b.k WITH (MEMORY 5 ROWS)"


@pytest.mark.parametrize(
    ("repaired", "left"),
    [
        ([], [(12, 38)]),
        ([PARTS[1]], [(20, 38)]),
        ([PARTS[2]], [(12, 20), (30, 38)]),
        ([PARTS[3]], [(12, 30)]),
        ([PARTS[1], PARTS[2], PARTS[3]], []),
        ([PARTS[0], PARTS[4]], [(12, 38)]),
    ],
)
def test_repaired_slices_are_taken_out(repaired: list[Slice], left: list[tuple[int, int]]) -> None:
    known = DirtyRange(PARTS[1], 12, 38, "shed", 7)
    assert [(one.low, one.high) for one in without(known, repaired)] == left


@pytest.fixture
def context(tmp_path: Path) -> Context:
    query = parse_any_query("q", "queries/q.sql", TEXT, SCHEMAS)
    catalog = Catalog(str(tmp_path))
    workspace = SimpleNamespace(joins={"q": query})
    return cast("Context", SimpleNamespace(catalog=catalog, ledger=Ledger(catalog), workspace=workspace))


def joined(context: Context, part: Slice, **details: Any) -> Entry:
    entry = Entry(part, "join", "q", "done", 1, details=details)
    query = context.workspace.joins["q"]
    assert isinstance(query, JoinQuery)
    mark_for_repair(context, query, entry)
    context.ledger.record([Entry(part, "publish", "q", "done", 1)])
    return entry


SHED = {"low": 12, "high": 38, "why": "shed", "tuples": 7}


def test_what_a_slice_shed_is_repaired_in_later_slices_too_and_those_to_come(context: Context) -> None:
    joined(context, PARTS[1], repair=[SHED])
    joined(context, PARTS[2], repair=[])
    (found,) = pending_repairs(context)
    assert (found.slices, found.tuples) == ((PARTS[1], PARTS[2]), 7)
    assert pending_repairs(context, PARTS[2])[0].slices == (PARTS[2],)
    settle(context, "q", [PARTS[1], PARTS[2]])
    assert pending_repairs(context) == []
    joined(context, PARTS[3], repair=[])
    assert pending_repairs(context)[0].slices == (PARTS[3],), "it went on from a state that lacks the tuple"


def test_a_repaired_slice_marks_nothing_and_one_run_again_marks_the_same(context: Context) -> None:
    joined(context, PARTS[1], repair=[SHED])
    before = DirtySet(context.catalog).pending("gold/q")
    joined(context, PARTS[1], repair=[SHED])
    assert DirtySet(context.catalog).pending("gold/q") == before
    settle(context, "q", [PARTS[1]])
    left = DirtySet(context.catalog).pending("gold/q")
    joined(context, PARTS[1], repair=[SHED], repaired=True)
    assert DirtySet(context.catalog).pending("gold/q") == left


def test_changed_input_stays_marked_when_the_slice_is_run_again(context: Context) -> None:
    changed = {"low": 20, "high": 30, "why": "changed input", "tuples": 3}
    joined(context, PARTS[1], repair=[SHED, changed])
    joined(context, PARTS[1], repair=[SHED])
    assert {one.why for one in DirtySet(context.catalog).pending("gold/q")} == {"shed", "changed input"}
