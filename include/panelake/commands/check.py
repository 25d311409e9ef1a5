"""`panelake check`: reads the workspace and says everything that is wrong with it, at once."""

from __future__ import annotations

import argparse

from panelake.cli import print_json, workspace_folder
from panelake.console import say
from panelake.errors import PartDownError
from panelake.sources.files import list_files
from panelake.streams import is_template
from panelake.workspace import Workspace, load_workspace


def add_options(command: argparse.ArgumentParser) -> None:
    """No options of its own."""


def run(options: argparse.Namespace) -> int:
    """Errors are raised; what is left is a workspace that can run."""
    workspace = load_workspace(workspace_folder(options))
    require_sound_rules(workspace)
    files = _files_of_all(workspace)
    if options.json:
        found = {"workspace": str(workspace.root), "streams": files, "queries": list(workspace.all_queries)}
        print_json({"problems": [], **found})
        return 0
    for name, count in files.items():
        there = f"a {workspace.streams[name].source.format} source" if count is None else f"{count} files at its source"
        say(f"stream {name}: {len(workspace.streams[name].columns)} columns, {there}")
    for query in workspace.queries.values():
        say(f"query {query.name}: {query.window.kind} window over {query.stream}")
    for join in workspace.joins.values():
        say(f"query {join.name}: a join of {', '.join(stream.alias for stream in join.streams)}")
    say(f"{workspace.root}: all is well")
    return 0


def require_sound_rules(workspace: Workspace) -> None:
    """Ask Great Expectations, which takes seconds to load, only where there is something to ask."""
    if workspace.own_rules:
        from panelake.quality.own_checks import require_sound  # noqa: PLC0415 - see above

        require_sound(workspace.own_rules)


def _files_of_all(workspace: Workspace) -> dict[str, int | None]:
    """What `_files` finds for each stream; every source that is not there is told, not the first alone."""
    files: dict[str, int | None] = {}
    missing = []
    for name in workspace.streams:
        try:
            files[name] = _files(workspace, name)
        except PartDownError as error:
            missing.append(str(error))
    if missing:
        raise PartDownError("\n".join(missing))
    return files


def _files(workspace: Workspace, stream: str) -> int | None:
    """How many files there are to read; None where the source is no folder of files, or one folder a slice."""
    path = workspace.streams[stream].source.path
    return len(list_files(stream, workspace.source_path(stream))) if path and not is_template(path) else None
