"""`panelake maintain`: retention, compaction and vacuum of a workspace's tables; --dry-run only tells."""

from __future__ import annotations

import argparse
from typing import Any

from panelake import tables
from panelake.cli import print_json, workspace_folder
from panelake.console import say
from panelake.context import Context
from panelake.spark.session import lost_server_is_transient
from panelake.workspace import load_workspace


def add_options(command: argparse.ArgumentParser) -> None:
    """Whether only to say what would be done."""
    command.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    command.add_argument("--master", default=None, metavar="URL", help="sc://host:port, spark://host:port or local[*]")


def run(options: argparse.Namespace) -> int:
    """Safe while runs are active: what deletes waits for them."""
    from panelake.maintenance.maintain import maintain, planned  # noqa: PLC0415 - loads Spark

    workspace = load_workspace(workspace_folder(options))
    context = Context(workspace, options.master)
    steps: list[dict[str, Any]] = []
    try:
        with lost_server_is_transient():
            if not options.dry_run:
                tables.require_writable(workspace.warehouse)
            found = (step.document() for step in planned(context)) if options.dry_run else maintain(context)
            for step in found:
                steps.append(step)
                if not options.json:
                    say(f"{step['action']:8} {step['table']}: {step.get('skipped', step['what'])}")
    finally:
        context.close()
    if options.json:
        print_json({"dry_run": options.dry_run, "steps": steps})
    elif not steps:
        say("nothing to do: every table is as streams.yaml keeps it")
    return 0
