"""filters.py as `check` reads it: never run, and every mistake told with its place."""

from __future__ import annotations

import pytest

from panelake.errors import WorkspaceError
from panelake.workspace import load_workspace

STREAMS = """\
slice: 1 minute
streams:
  cars:
    schema: {car: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    where:
      - speed >= 0
      - WHERE
"""


def problems(folder, where, python=None):
    (folder / "streams.yaml").write_text(STREAMS.replace("WHERE", where))
    if python is not None:
        (folder / "filters.py").write_text(python)
    with pytest.raises(WorkspaceError) as caught:
        load_workspace(folder)
    return str(caught.value)


def test_a_function_is_found_and_not_run(tmp_path):
    (tmp_path / "streams.yaml").write_text(STREAMS.replace("WHERE", "{python: fast, commutative: true}"))
    (tmp_path / "filters.py").write_text("raise SystemExit('imported')\ndef fast(speed, car):\n    return speed\n")
    workspace = load_workspace(tmp_path)
    assert [known.text for known in workspace.streams["cars"].where] == ["speed >= 0", "fast()"]
    assert workspace.python.functions["fast"].parameters == ("speed", "car")


@pytest.mark.parametrize(
    ("where", "python", "expected"),
    [
        ("{python: fast}", None, "streams.yaml:9: streams.cars.where: filters.py has no function 'fast' at its top"),
        ("{python: fast}", "def slow(speed): ...", "it has: slow"),
        ("{python: fast}", "def fast(:", "filters.py:1: not Python"),
        ("{python: fast}", "\ndef fast(tempo): ...", "filters.py:2: fast(): parameter 'tempo' is no column of stream"),
        ("{python: fast}", "def fast(*columns): ...", "filters.py:1: fast(): expected one plain parameter for each"),
        ("{python: fast}", "async def fast(car): ...", "filters.py:1: fast(): is async"),
        ("{pyton: fast}", None, "unknown key 'streams.cars.where.1.pyton'; expected one of sql, python, commutative"),
        ("{python: fast, sql: car > 1}", None, "a filter is either SQL or Python"),
        ("{commutative: true}", None, "a filter is either SQL or Python"),
        ("{sql: tempo > 1}", None, "streams.yaml:9"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_and_line(tmp_path, where, python, expected):
    assert expected in problems(tmp_path, where, python)


def test_bytes_that_are_no_text_are_told(tmp_path):
    (tmp_path / "filters.py").write_bytes(b"\xff\xfe")
    (tmp_path / "streams.yaml").write_text(STREAMS.replace("WHERE", "car > 1"))
    with pytest.raises(WorkspaceError, match=r"filters.py: not UTF-8 text"):
        load_workspace(tmp_path)
