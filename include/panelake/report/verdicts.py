"""The audit's verdicts as data: the worst of each table of each slice, and the rules of one slice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from panelake import tables
from panelake.quality.results import RESULTS
from panelake.slices import Slice

Verdict = Literal["passed", "warned", "refused"]
VERDICTS: tuple[Verdict, ...] = ("passed", "warned", "refused")
_INSTANT = tables.timestamp_type()


@dataclass(frozen=True)
class RuleResult:
    """One rule of one table in one slice; `sample` holds failing rows with their keys."""

    table: str
    rule: str
    severity: str
    verdict: Verdict
    observed: str
    expected: str
    sample: tuple[dict[str, Any], ...]
    seconds: float


def worst(verdicts: Iterable[Verdict], least: Verdict) -> Verdict:
    """The gravest of them, `least` where there is none."""
    return max(verdicts, key=VERDICTS.index, default=least)


def table_verdicts(address: str) -> dict[Slice, dict[str, Verdict]]:
    """The worst verdict of each table by slice."""
    keys = ["slice_start", "slice_end", "table"]
    rows = tables.read(address, RESULTS, [*keys, "severity", "success"])
    grades = rows.select(keys).append_column("grade", _grades(rows))
    found: dict[Slice, dict[str, Verdict]] = {}
    for row in _with_integer_instants(grades.group_by(keys).aggregate([("grade", "max")])).to_pylist():
        part = Slice(row["slice_start"], row["slice_end"])
        found.setdefault(part, {})[row["table"]] = VERDICTS[row["grade_max"]]
    return found


def rule_results(address: str, parts: Sequence[Slice]) -> dict[Slice, list[RuleResult]]:
    """The rules of the given slices, by table, failing ones first."""
    found: dict[Slice, list[RuleResult]] = {part: [] for part in parts}
    for row in _with_integer_instants(_rows_of(address, parts)).to_pylist():
        part = Slice(row["slice_start"], row["slice_end"])
        if part in found:
            found[part].append(_result(row))
    return {part: sorted(rules, key=_gravest_first) for part, rules in found.items()}


def _rows_of(address: str, parts: Sequence[Slice]) -> pa.Table:
    table = tables.open_table(address)
    if table is None or not parts:
        return RESULTS.empty_table()
    starts = pa.array(sorted({part.start for part in parts}), _INSTANT)
    first, last = (pa.scalar(instant.value, _INSTANT) for instant in (starts[0], starts[-1]))
    time = pc.field("slice_start")
    # The bounds let files be skipped by their statistics; the list then picks the slices.
    condition = (time >= first) & (time <= last) & time.isin(starts)
    return tables.dataset(table).to_table(filter=condition)


def _grades(rows: pa.Table) -> pa.Array:
    """Each row's place in VERDICTS."""
    failed = pc.if_else(pc.equal(rows["severity"], "blocking"), 2, 1)
    return pc.if_else(rows["success"], 0, failed)


def _with_integer_instants(rows: pa.Table) -> pa.Table:
    for name in ("slice_start", "slice_end"):
        rows = rows.set_column(rows.schema.get_field_index(name), name, rows[name].cast(pa.int64()))
    return rows


def _result(row: dict[str, Any]) -> RuleResult:
    failed: Verdict = "refused" if row["severity"] == "blocking" else "warned"
    verdict: Verdict = "passed" if row["success"] else failed
    texts = (row["observed"] or "", row["expected"] or "", _sample(row["sample"]), row["seconds"] or 0.0)
    return RuleResult(row["table"], row["rule"], row["severity"], verdict, *texts)


def _sample(text: str | None) -> tuple[dict[str, Any], ...]:
    """The failing rows; what is not a list of rows is shown as it is."""
    try:
        rows = json.loads(text or "[]")
    except json.JSONDecodeError:
        return ({"sample": text},)
    listed = rows if isinstance(rows, list) else [rows]
    return tuple(row if isinstance(row, dict) else {"sample": row} for row in listed)


def _gravest_first(result: RuleResult) -> tuple[int, str, str]:
    return -VERDICTS.index(result.verdict), result.table, result.rule
