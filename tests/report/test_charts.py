from __future__ import annotations

import math

import pytest

from panelake.report import words
from panelake.report.charts import Axes, Series, line_chart
from panelake.report.history import SliceFacts
from panelake.report.scales import Step, clock_step, round_step, value_scale
from panelake.report.strips import MOST_STRETCHES, stretches
from panelake.slices import Slice


@pytest.mark.parametrize(("rough", "step"), [(0.7, 1), (1, 1), (1.2, 2), (2.2, 2.5), (3, 5), (60, 100), (0.03, 0.05)])
def test_steps_between_ticks_are_round(rough: float, step: float) -> None:
    assert round_step(rough) == pytest.approx(step)


@pytest.mark.parametrize(
    ("rough", "step"), [(0.7, 1), (4, 5), (11, 15), (61, 120), (1_900, 3_600), (50_000, 86_400), (300_000, 432_000)]
)
def test_steps_between_ticks_of_time_are_those_of_a_clock(rough: float, step: float) -> None:
    assert clock_step(rough) == pytest.approx(step)


@pytest.mark.parametrize("values", [[0.0], [5.0], [-3.0], [1e-9, 2e-9], [1e300, -1e300], [1e15, 1e15 + 1]])
@pytest.mark.parametrize("from_zero", [True, False])
@pytest.mark.parametrize("round_up", [round_step, clock_step])
def test_every_value_has_a_place_on_its_scale(values: list[float], round_up: Step, *, from_zero: bool) -> None:
    scale = value_scale(values, from_zero=from_zero, round_up=round_up)
    assert all(-1e-9 <= scale.place(value) <= 1 + 1e-9 for value in values)
    assert len(scale.ticks) < 12


def test_a_line_breaks_where_nothing_is_known() -> None:
    chart = line_chart("tuples", [0, 10, 20, 30], [Series("a", [1.0, 2.0, None, 2.0])])
    assert 'class="line s0" d="M0.0 100.0L333.3 0.0"' in str(chart)
    assert 'class="line s0 dots" d="M1000.0 0.0h0"' in str(chart), "a point alone can be seen"


def test_a_place_alone_lies_in_the_middle() -> None:
    assert 'd="M500.0 100.0h0"' in str(line_chart("tuples", [7], [Series("a", [5.0])], Axes(from_zero=False)))


def test_what_cannot_be_drawn_is_left_out() -> None:
    assert line_chart("tuples", [0, 1], [Series("a", [None, math.nan])]) is None
    assert line_chart("tuples", [], []) is None
    assert "NaN" not in str(line_chart("tuples", [0, 1, 2], [Series("a", [1.0, math.inf, 2.0])]))


def test_a_chart_holds_its_numbers_as_a_table() -> None:
    chart = str(line_chart("tuples", [0, 60_000_000], [Series("a", [1234.0, None]), Series("b", [1.0, 2.0])]))
    assert '<th scope="row">1970-01-01 00:01</th><td class="n">–</td><td class="n">2</td>' in chart
    assert "1,234" in chart


def test_a_chart_says_how_many_lines_it_leaves_out() -> None:
    chart = str(line_chart("tuples", [0], [Series(str(number), [1.0]) for number in range(1200)]))
    assert "tuples (the first 7 of 1,200)" in chart
    assert len(chart) < 10_000


def test_names_are_escaped_in_charts() -> None:
    chart = str(line_chart("<script>x</script>", [0], [Series("<b>", [1.0]), Series("</svg>", [1.0])]))
    assert "<script>" not in chart
    assert "<b>" not in chart
    assert chart.count("</svg>") == 3  # two legend keys and the drawing


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
