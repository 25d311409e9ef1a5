"""What `panelake run` tells of the slices it ran; the slices themselves are run elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from panelake.cli import main
from panelake.commands import run as run_command
from panelake.ledger import Entry

STREAMS = """\
slice: 5 minutes
streams:
  cars: {schema: {ts: timestamp}, event_time: ts, source: {format: parquet, path: landing}}
"""
RANGE = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T00:05:00Z")


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose one slice, taken anew, finds a file more and a file less."""
    (tmp_path / "streams.yaml").write_text(STREAMS)
    changes = {"added": ["landing/b.parquet", "landing/c.parquet"], "gone": ["landing/a.parquet"], "changed": []}

    def ran(_context: object, part: object, *_others: object) -> list[Entry]:
        return [
            Entry(part, "ingest", "cars", "done", 7, 1.0, {"refreshed": changes}),
            Entry(part, "ingest", "", "done", 7),
        ]

    monkeypatch.setattr(run_command, "run_slice", ran)
    return tmp_path


def test_what_changed_in_a_refreshed_slice_is_told(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *RANGE, "--again", "--refresh", "--workspace", str(town)]) == 0
    out = capsys.readouterr().out
    assert "refreshed: 2026-01-01T00:00:00Z cars: 2 added: landing/b.parquet, landing/c.parquet; 1 gone:" in out
    assert "changed" not in out


def test_what_changed_is_in_the_document_too(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *RANGE, "--again", "--refresh", "--json", "--workspace", str(town)]) == 0
    [refreshed] = json.loads(capsys.readouterr().out)["refreshed"]
    assert (refreshed["slice"], refreshed["stream"]) == ("2026-01-01T00:00:00Z", "cars")
    assert refreshed["gone"] == ["landing/a.parquet"]
