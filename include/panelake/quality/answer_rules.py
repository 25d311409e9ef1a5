"""Rules of staged answers that need nothing but the answers: windows lie on their grid, once each, in sane ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from panelake.gold import END, START
from panelake.kernels.window_spec import WindowSpec
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row, equal, none
from panelake.slices import Slice, format_instant

Mask = NDArray[np.bool_]
_ROUNDING = 1e-9
_ORDERED = (("min", "avg"), ("avg", "max"), ("min", "max"))
_AT_LEAST = {"count": 0, "stddev_samp": 0, "var_samp": 0}


@dataclass(frozen=True)
class Answers:
    """A query's staged rows of one slice, and what the windows stage recorded of them."""

    query: AggregateQuery
    spec: WindowSpec
    part: Slice
    windows: Entry
    rows: pa.Table
    digest: str

    @property
    def table(self) -> str:
        return f"gold/{self.query.name}"

    @property
    def keys(self) -> list[str]:
        return [key.alias for key in self.query.keys]

    @property
    def due(self) -> range:
        """The numbers k of the windows that were to be answered."""
        ends = self.windows.details["ends"]
        if not ends:
            return range(0)
        return range(self._number(ends[0]), self._number(ends[-1]) + 1)

    @property
    def restated(self) -> list[range]:
        """The numbers k of windows answered before, of which the groups that the slice's tuples are in were due."""
        ranges = self.windows.details.get("restated", [])
        return [range(self._number(first), self._number(last) + 1) for first, last in ranges]

    @property
    def ranges(self) -> list[range]:
        """All windows of which anything was due."""
        return [ks for ks in (self.due, *self.restated) if ks]

    def _number(self, end: int) -> int:
        return (end - self.spec.shift) // self.spec.slide

    def direct(self, *functions: str) -> Iterator[tuple[str, str | None, str]]:
        """(function, argument, column) of each output that is one aggregate and nothing more."""
        placeholders = {f"_a{number}": call for number, call in enumerate(self.query.calls)}
        for output in self.query.outputs:
            call = placeholders.get(output.expression.strip("`"))
            if call is not None and call.function in functions:
                yield call.function, call.argument, output.alias


def answer_metrics(answers: Answers) -> list[Metric]:
    """The metrics of one query's staged rows."""
    return [
        equal(answers.table, "rows_staged", answers.rows.num_rows, answers.windows.rows),
        _windows_due(answers),
        _unique(answers),
        _on_grid(answers),
        _in_due_range(answers),
        _in_order(answers),
        _at_least(answers),
    ]


def _windows_due(answers: Answers) -> Metric:
    """Every window that ends in the slice is among those answered; windows over rows end where numbers do."""
    own = (
        answers.spec.ending_in(answers.part.start, answers.part.end) if answers.query.window.kind == "TS" else range(0)
    )
    missing = [k for k in own if k not in answers.due]
    expected = f"each of the slice's {len(own)} window ends is due"
    return none(answers.table, "windows_due", len(missing), expected, lambda: [{"k": k} for k in missing[:SAMPLE_ROWS]])


def _unique(answers: Answers) -> Metric:
    """No window × group twice."""
    place = [END, *answers.keys]
    times = answers.rows.select(place).group_by(place).aggregate([([], "count_all")])
    twice = times.filter(pc.greater(times["count_all"], 1)).rename_columns([*place, "times"])
    return none(
        answers.table, "unique_windows", twice.num_rows, f"({', '.join(place)}) is unique", lambda: _shown(twice)
    )


def _on_grid(answers: Answers) -> Metric:
    spec = answers.spec
    start, end = (_positions(answers.rows, name) for name in (START, END))
    off = ((end - spec.shift) % spec.slide != 0) | (end - start != spec.range)
    expected = f"window_end lies on the grid of SLIDE {spec.slide} and window_start is RANGE {spec.range} before"
    return _rows_rule(answers, "windows_on_grid", off, expected)


def _in_due_range(answers: Answers) -> Metric:
    end = _positions(answers.rows, END)
    outside, expected = np.ones(len(end), bool), []
    for ks in answers.ranges:
        low, high = (answers.spec.end(k) for k in (ks[0], ks[-1]))
        outside &= (end < low) | (end > high)
        shown = (format_instant(at) if answers.query.window.kind == "TS" else str(at) for at in (low, high))
        expected.append(" <= window_end <= ".join(shown))
    return _rows_rule(answers, "windows_in_range", outside, " or ".join(expected) or "no window is due")


def _in_order(answers: Answers) -> Metric:
    """Least ≤ average ≤ greatest wherever a query selects them of one expression."""
    columns = {(function, argument): alias for function, argument, alias in answers.direct("min", "avg", "max")}
    arguments = {argument for _, argument in columns}
    pairs = [
        (columns[lower, argument], columns[upper, argument])
        for argument in arguments
        for lower, upper in _ORDERED
        if {(lower, argument), (upper, argument)} <= columns.keys() and _numeric(answers.rows[columns[lower, argument]])
    ]
    wrong = _any(answers, (_above(answers.rows[lower], answers.rows[upper]) for lower, upper in pairs))
    return _rows_rule(answers, "value_order", wrong, "min <= avg <= max")


def _at_least(answers: Answers) -> Metric:
    """count(*) > 0, other counts, variances and deviations ≥ 0."""
    low = {
        alias: 1 if (function, argument) == ("count", None) else _AT_LEAST[function]
        for function, argument, alias in answers.direct(*_AT_LEAST)
    }
    wrong = _any(answers, (_below(answers.rows[alias], bound) for alias, bound in low.items()))
    return _rows_rule(answers, "value_ranges", wrong, "count(*) > 0 and other counts, variances and deviations >= 0")


def _rows_rule(answers: Answers, rule: str, wrong: Mask, expected: str) -> Metric:
    failing = answers.rows.filter(pa.array(wrong))
    return none(answers.table, rule, failing.num_rows, expected, lambda: _shown(failing))


def _any(answers: Answers, masks: Iterable[Mask]) -> Mask:
    wrong = np.zeros(answers.rows.num_rows, bool)
    for mask in masks:
        wrong |= mask
    return wrong


def _above(lower: pa.ChunkedArray, upper: pa.ChunkedArray) -> Mask:
    """Where the lower exceeds the upper by more than rounding; NULL and NaN exceed nothing."""
    one, other = _floats(lower), _floats(upper)
    with np.errstate(invalid="ignore"):
        return np.asarray(one - other > _ROUNDING * np.maximum(np.abs(one), np.abs(other)), bool)


def _below(values: pa.ChunkedArray, low: int) -> Mask:
    return np.asarray(_floats(values) < low, bool)


def _numeric(values: pa.ChunkedArray) -> bool:
    kind = values.type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _floats(values: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def _positions(rows: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(rows[name].cast(pa.int64()).to_numpy(), np.int64)


def _shown(rows: pa.Table) -> list[Row]:
    shown: list[Row] = rows.slice(0, SAMPLE_ROWS).to_pylist()
    return shown
