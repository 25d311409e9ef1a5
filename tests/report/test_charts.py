from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from panelake.report import words
from panelake.report.charts import Axes, Series, line_chart
from panelake.report.embedded import embedded_json
from panelake.report.history import SliceFacts
from panelake.report.stretches import MOST_STRETCHES, stretches
from panelake.slices import Slice


def numbers_of(chart: object) -> dict[str, Any]:
    """What the page's script is given to draw."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', str(chart))
    assert len(found) == 1
    numbers: dict[str, Any] = json.loads(found[0])
    return numbers


def test_a_line_breaks_where_nothing_is_known() -> None:
    chart = line_chart("tuples", [0, 10_000, 20_000, 30_000], [Series("a", [1.0, 2.0, None, 2.0])])
    assert numbers_of(chart) == {
        "places": [0, 10, 20, 30], "timed": True, "unit": "number", "fromZero": True, "series": [[1, 2, None, 2]],
    }  # fmt: skip


def test_what_cannot_be_drawn_is_left_out() -> None:
    assert line_chart("tuples", [0, 1], [Series("a", [None, math.nan])]) is None
    assert line_chart("tuples", [], []) is None
    chart = line_chart("tuples", [0, 1, 2], [Series("a", [1.0, math.inf, 2.0])], Axes(timed=False))
    assert numbers_of(chart)["series"] == [[1, None, 2]]


def test_a_chart_holds_its_numbers_as_a_table() -> None:
    chart = str(line_chart("tuples", [0, 60_000_000], [Series("a", [1234.0, None]), Series("b", [1.0, 2.0])]))
    assert '<th scope="row">1970-01-01 00:01</th><td class="n">–</td><td class="n">2</td>' in chart
    assert "1,234" in chart


def test_a_chart_says_how_many_lines_it_leaves_out() -> None:
    chart = str(line_chart("tuples", [0], [Series(str(number), [1.0]) for number in range(1200)]))
    assert "tuples (the first 7 of 1,200)" in chart
    assert len(chart) < 10_000


def test_names_are_escaped_in_charts() -> None:
    chart = str(line_chart("<script>x</script>", [0], [Series("<b>", [1.0]), Series("</figure>", [1.0])]))
    assert chart.count("<script") == 1
    assert "<b>" not in chart
    assert chart.count("</figure>") == 1


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
@example("</script><script>alert(1)</script>")
@example({"<!--<script>": ["]]>", "&lt;/script&gt;", "\u2028"]})
def test_embedded_values_come_back_whole_and_end_no_element(value: object) -> None:
    text = embedded_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_what_is_not_a_number_is_not_embedded() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        embedded_json([math.nan])


@pytest.mark.parametrize("gap", [300_000_000, 3_600_000_000, 86_400_000_000, 52 * 7 * 86_400_000_000])
def test_older_slices_are_gathered_into_few_stretches(gap: int) -> None:
    older = [SliceFacts(Slice(place * gap, place * gap + 300_000_000), ()) for place in range(5_000)]
    gathered = stretches(older)
    assert len(gathered) <= MOST_STRETCHES
    assert sum(stretch.slices for stretch in gathered) == 5_000


@pytest.mark.parametrize(
    ("microseconds", "said"),
    [
        (0, "0 s"),
        (1_500_000, "1.5 s"),
        (90_000_000, "1 min 30 s"),
        (3_600_000_000, "1 h"),
        (90_000_000_000, "1 d 1 h"),
        (-60_000_000, "−1 min"),
        (None, "–"),
    ],
)
def test_durations_are_said_in_their_two_greatest_units(microseconds: int | None, said: str) -> None:
    assert words.duration(microseconds) == said


@pytest.mark.parametrize(
    ("microseconds", "said"),
    [(0, "1970-01-01 00:00"), (10_000_000, "1970-01-01 00:00:10"), (500_000, "1970-01-01 00:00:00.5")],
)
def test_instants_are_said_no_finer_than_needed(microseconds: int, said: str) -> None:
    assert words.instant(microseconds) == said
