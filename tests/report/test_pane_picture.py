from __future__ import annotations

import re
from typing import Any

import pytest

from panelake.language.query import AggregateCall, AggregateQuery, Output, Window
from panelake.planning.plan import build_plan
from panelake.report.pane_picture import MOST_PANES, MOST_QUERIES, pane_picture

MINUTE = 60_000_000


def query(name: str, *window: Any) -> AggregateQuery:
    calls, outputs = (AggregateCall("count", None),), (Output("n", "_a0"),)
    return AggregateQuery(name, f"queries/{name}.sql", "traffic", Window(*window), (), calls, outputs)


def drawn(*queries: AggregateQuery) -> str:
    return str(pane_picture(build_plan("traffic", queries), queries[0]))


def rectangles(picture: str, kind: str) -> list[tuple[float, float]]:
    found = re.findall(rf'<rect class="{kind}[^"]*" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', picture)
    return [(float(x), float(width)) for x, width in found]


def test_windows_lie_on_the_panes_they_are_made_of() -> None:
    # panes     |--|--|--|--|--|--|   one minute each, six of them
    # windows   [--------)
    #              [--------)
    #                 [--------)
    picture = drawn(query("q", "TS", 3 * MINUTE, MINUTE))
    sixth = 1000 / 6
    assert rectangles(picture, "pane") == [
        (pytest.approx(k * sixth, abs=0.01), pytest.approx(sixth, abs=0.01)) for k in range(6)
    ]
    assert rectangles(picture, "window") == [
        (pytest.approx(k * sixth, abs=0.01), pytest.approx(3 * sixth, abs=0.01)) for k in range(3)
    ]
    assert "A window of q is made of 3 panes." in picture


def test_queries_that_share_panes_are_drawn_under_each_other() -> None:
    picture = drawn(query("one", "TS", 3 * MINUTE, MINUTE), query("other", "TS", 6 * MINUTE, 2 * MINUTE))
    assert picture.index("<b>one</b>") < picture.index('<a href="other.html">other</a>')
    assert "A window of other is made of 6 panes." in picture


def test_windows_of_rows_are_measured_in_tuples() -> None:
    picture = drawn(query("rows", "ROW", 200, 50))
    assert "350 tuples" in picture
    assert len(rectangles(picture, "pane")) == 7


def test_what_was_not_measured_is_said_to_be_assumed() -> None:
    assert "by an assumed rate: no slice was measured yet" in drawn(query("q", "TS", 3 * MINUTE, MINUTE))


@pytest.mark.parametrize(("length", "slide"), [(7 * 24 * 60 * MINUTE, MINUTE), (10 * MINUTE, 7), (MINUTE, 10 * MINUTE)])
def test_the_picture_is_bounded_whatever_the_windows(length: int, slide: int) -> None:
    picture = drawn(*[query(f"q{number}", "TS", length, slide) for number in range(50)])
    assert 0 < len(rectangles(picture, "pane")) <= MOST_PANES + 1
    assert rectangles(picture, "window")
    assert all(x + width <= 1000.01 for x, width in rectangles(picture, "window"))
    assert f"{MOST_QUERIES} of 50 queries" in picture
    assert len(picture) < 60_000
