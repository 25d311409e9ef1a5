"""`panelake show NAME`: a query's newest answers."""

from __future__ import annotations

import argparse
import math
from datetime import datetime
from typing import Any

import pyarrow as pa

from panelake.catalog import Catalog
from panelake.cli import print_json, workspace_folder
from panelake.console import print_table, say
from panelake.errors import BadInputError
from panelake.gold import REVISION, SLICE
from panelake.report import words
from panelake.report.answers import newest_rows
from panelake.slices import format_instant, to_microseconds
from panelake.workspace import Workspace, load_workspace


def add_options(command: argparse.ArgumentParser) -> None:
    """Which query, and how many answers."""
    command.add_argument("name", metavar="NAME", help="a query of the workspace")
    command.add_argument("--last", type=int, default=20, metavar="N", help="how many rows, newest first (default 20)")


def run(options: argparse.Namespace) -> int:
    """Print the answers, newest window first."""
    workspace = load_workspace(workspace_folder(options))
    _require_known(options.name, workspace)
    if options.last < 1:
        raise BadInputError(f"--last {options.last}: expected how many rows to show, at least 1")
    query = workspace.all_queries[options.name]
    rows = newest_rows(Catalog(workspace.warehouse).gold(query.name), query, options.last)
    if options.json:
        print_json({"query": options.name, "rows": [] if rows is None else _documents(rows)})
    elif rows is None:
        say(f"query {options.name}: nothing is published yet; run slices with 'panelake run --from T --to T'")
    else:
        _tell(rows)
    return 0


def _require_known(name: str, workspace: Workspace) -> None:
    if name not in workspace.all_queries:
        known = ", ".join(workspace.all_queries) or "none: write one in queries/NAME.sql"
        raise BadInputError(f"{workspace.root} has no query {name!r}; expected one of: {known}")


def _documents(rows: pa.Table) -> list[dict[str, Any]]:
    return [{name: _plain_value(value) for name, value in row.items()} for row in rows.to_pylist()]


def _plain_value(value: Any) -> Any:
    """Instants as ISO 8601 in UTC; NaN and the infinities, which JSON does not know, as text."""
    if isinstance(value, datetime):
        return format_instant(to_microseconds(value))
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _tell(rows: pa.Table) -> None:
    """As a table, without the columns that tell where rows come from unless a row was revised."""
    revised = any(revision for revision in rows[REVISION].to_pylist())
    shown = rows.drop_columns([SLICE] if revised else [SLICE, REVISION])
    instants = {field.name for field in shown.schema if pa.types.is_timestamp(field.type)}
    cells = [[_short(value) if name in instants else value for name, value in row.items()] for row in shown.to_pylist()]
    print_table(shown.column_names, cells)


def _short(value: Any) -> str | None:
    return None if value is None else words.instant(to_microseconds(value))
