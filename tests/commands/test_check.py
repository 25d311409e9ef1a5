"""`panelake check`: what is told of sources that are not there."""

from __future__ import annotations

import json

from panelake import cli

STREAMS = """\
slice: 5 minutes
streams:
  cars: {schema: {ts: timestamp}, event_time: ts, source: {format: parquet, path: landing/cars}}
  buses: {schema: {ts: timestamp}, event_time: ts, source: {format: json, path: landing/buses}}
  trams: {schema: {ts: timestamp}, event_time: ts, source: {format: csv, path: landing/trams}}
"""


def test_every_missing_source_is_told_at_once(tmp_path, capsys):
    (tmp_path / "streams.yaml").write_text(STREAMS)
    (tmp_path / "landing" / "buses").mkdir(parents=True)
    assert cli.main(["check", "--workspace", str(tmp_path), "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    first, second = document["error"].splitlines()
    assert first.startswith(f"stream cars: source path {tmp_path}/landing/cars does not exist")
    assert second.startswith(f"stream trams: source path {tmp_path}/landing/trams does not exist")
