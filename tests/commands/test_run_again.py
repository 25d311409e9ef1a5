from __future__ import annotations

import json
import shutil

from panelake.cli import main
from panelake.context import Context
from panelake.home import example_workspace
from panelake.ledger import Entry
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace


def test_a_run_that_was_killed_between_publish_and_report_is_reported_by_the_next(tmp_path, capsys):
    root = tmp_path / "traffic"
    shutil.copytree(example_workspace("traffic"), root, ignore=shutil.ignore_patterns("landing", "warehouse"))
    context = Context(load_workspace(root))
    start = parse_instant("2026-01-01T00:00:00Z")
    part = Slice(start, start + context.workspace.slice_length)
    context.ledger.record([Entry(part, stage, "", "done", 0) for stage in ("ingest", "publish")])
    command = ["run", "--json", "--workspace", str(root), "--from", part.name, "--to", "2026-01-01T00:05:00Z"]
    assert main(command) == 0
    [told] = json.loads(capsys.readouterr().out)["slices"]
    assert (told["slice"], told["seconds"].keys()) == (part.name, {"report"})
    assert context.ledger.done("report") == {part}
    assert (root / "warehouse" / "report" / "index.html").is_file()
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["slices"] == []
