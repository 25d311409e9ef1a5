"""`panelake report`: builds the quality report and prints its path."""

from __future__ import annotations

import argparse

from panelake import tables
from panelake.cli import print_json, workspace_folder
from panelake.console import say
from panelake.context import Context
from panelake.report.build import build_report
from panelake.workspace import load_workspace


def add_options(command: argparse.ArgumentParser) -> None:
    """No options of its own."""


def run(options: argparse.Namespace) -> int:
    """Build all pages; a workspace without slices has a report that says so."""
    workspace = load_workspace(workspace_folder(options))
    tables.require_writable(workspace.warehouse)
    built = build_report(Context(workspace))
    if options.json:
        print_json({"path": built.path, "pages": built.pages})
    else:
        say(built.path)
    return 0
