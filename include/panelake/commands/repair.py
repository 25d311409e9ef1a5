"""`panelake repair`: joins again, without limit, the slices that shed; restates gold and the report."""

from __future__ import annotations

import argparse
from typing import Any

from panelake import tables
from panelake.cli import print_json, workspace_folder
from panelake.commands.ranges import add_range_options, chosen_slices
from panelake.console import print_table, progress_bar, say
from panelake.context import Context
from panelake.flow import STAGES
from panelake.ledger import Entry
from panelake.repairs import Repair, pending_repairs, settle
from panelake.report import words
from panelake.runner import run_slice
from panelake.slices import Slice
from panelake.spark.session import lost_server_is_transient
from panelake.workspace import Workspace, load_workspace

_STAGES = tuple(stage for stage in STAGES if stage.name not in {"ingest", "panes"})


def add_options(command: argparse.ArgumentParser) -> None:
    """Everything that shed, or a range of it; and whether only to say what would be done."""
    add_range_options(command)
    command.add_argument("--dry-run", action="store_true", help="say what would be joined again, and touch nothing")
    command.add_argument("--master", default=None, metavar="URL", help="sc://host:port, spark://host:port or local[*]")


def run(options: argparse.Namespace) -> int:
    """Exit 1 where a gate refused a slice."""
    workspace = load_workspace(workspace_folder(options))
    context = Context(workspace, options.master)
    repairs = pending_repairs(context, _asked_for(options, workspace))
    if not options.json:
        _tell_plan(repairs)
    if options.dry_run or not repairs:
        return _finished(options, repairs, [])
    tables.require_writable(workspace.warehouse)
    try:
        with lost_server_is_transient():
            return _finished(options, repairs, repair(context, repairs, quiet=options.json))
    finally:
        context.close()


def _asked_for(options: argparse.Namespace, workspace: Workspace) -> Slice | None:
    if not options.since and not options.until:
        return None
    parts = chosen_slices(options, workspace)
    return Slice(parts[0].start, parts[-1].end)


def repair(context: Context, repairs: list[Repair], *, quiet: bool = True) -> list[Entry]:
    """Join the slices again, oldest first, each for all joins that lack something in it."""
    parts = sorted({part for one in repairs for part in one.slices})
    entries: list[Entry] = []
    with progress_bar(len(parts) * len(_STAGES), quiet=quiet) as bar:
        for part in parts:
            context.repairing = frozenset(one.query for one in repairs if part in one.slices)
            mine = run_slice(context, part, lambda part, stage: bar.step(f"{part.name} {stage.name}"), _STAGES)
            for query in context.repairing:
                if any((e.stage, e.subject, e.status) == ("publish", query, "done") for e in mine):
                    settle(context, query, [part])
            entries += mine
    context.repairing = frozenset()
    return entries


def _tell_plan(repairs: list[Repair]) -> None:
    if not repairs:
        say("nothing to repair: no join lacks results")
    for one in repairs:
        first, last = one.slices[0].name, one.slices[-1].name
        shed = f"{one.tuples:,} tuples shed" if one.tuples else "input changed after later slices were joined"
        say(f"join {one.query}: {len(one.slices)} slices from {first} to {last}; {shed}")


def _finished(options: argparse.Namespace, repairs: list[Repair], entries: list[Entry]) -> int:
    names = {one.query for one in repairs}
    joined = [e for e in entries if e.stage == "join" and e.subject in names and e.details.get("repaired")]
    refused = [entry for entry in entries if entry.status == "refused" and entry.subject]
    if options.json:
        plans = [{"query": one.query, "slices": [p.name for p in one.slices], "shed": one.tuples} for one in repairs]
        told = [_document(entry) for entry in joined]
        shown = [{"slice": e.slice.name, "stage": e.stage, "subject": e.subject, **e.details} for e in refused]
        print_json({"repairs": plans, "dry_run": options.dry_run, "repaired": told, "refused": shown})
        return 1 if refused else 0
    if joined:
        rows = [[e.slice.name, e.subject, *_accuracies(e), e.rows] for e in joined]
        print_table(["slice", "join", "estimated accuracy", "measured accuracy", "results"], rows)
    for entry in refused:
        say(f"refused: {entry.slice.name} {entry.stage} {entry.subject}: {entry.details.get('why', '')}")
    return 1 if refused else 0


def _accuracies(entry: Entry) -> list[str | None]:
    return [words.share(entry.details.get(name)) for name in ("estimated_accuracy", "measured_accuracy")]


def _document(entry: Entry) -> dict[str, Any]:
    names = ("shed", "estimated_accuracy", "measured_accuracy", "limited_rows")
    told = {name: entry.details.get(name) for name in names}
    return {"slice": entry.slice.name, "query": entry.subject, **told, "rows": entry.rows}
