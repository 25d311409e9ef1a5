"""`panelake plan`: explains the pane plan; with --from/--to, which slices would run and why."""

from __future__ import annotations

import argparse
from typing import Any

from panelake.cli import print_json, workspace_folder
from panelake.commands.ranges import add_range_options, chosen_slices
from panelake.console import print_table, say
from panelake.context import Context
from panelake.dirty import DirtySet
from panelake.pane_plan import plan_of
from panelake.planning.explain import Explained
from panelake.planning.explain_join import explained_join, tell_joins
from panelake.repairs import shed_reasons
from panelake.slices import Slice
from panelake.stages.registry import changed_queries
from panelake.workspace import load_workspace


def add_options(command: argparse.ArgumentParser) -> None:
    """A range, or none."""
    add_range_options(command)


def run(options: argparse.Namespace) -> int:
    """Nothing is written and no Spark is needed."""
    context = Context(load_workspace(workspace_folder(options)))
    if options.since or options.until:
        slices = [due(context, part) for part in chosen_slices(options, context.workspace)]
        document: dict[str, Any] = {"slices": slices}
    else:
        streams = [name for name in context.workspace.streams if context.workspace.queries_of(name)]
        document = {"streams": [Explained(plan_of(context, name)).document() for name in streams]}
        document["joins"] = [explained_join(join) for join in context.workspace.joins.values()]
    if options.json:
        print_json(document)
    elif "slices" in document:
        _tell_slices(document["slices"])
    else:
        _tell_streams(document["streams"])
        tell_joins(document["joins"])
    return 0


def due(context: Context, part: Slice) -> dict[str, Any]:
    """Whether `run` would run the slice, and why; what only `restate` does is told too."""
    entries = context.ledger.of_slice(part)
    whole = entries.get(("publish", ""))
    reasons = _reasons(context, {subject: entry for (stage, subject), entry in entries.items() if stage == "publish"})
    reasons += _late(context, part) + shed_reasons(context, part)
    if whole is None:
        return {"slice": part.name, "runs": True, "why": ["missing"]}
    return {"slice": part.name, "runs": whole.status == "refused", "why": reasons}


def _reasons(context: Context, published: dict[str, Any]) -> list[str]:
    changed = changed_queries(context)
    reasons = []
    for name in context.workspace.all_queries:
        entry = published.get(name)
        if name in changed:
            reasons.append(f"changed query {name}: refused until restated")
        elif entry is None:
            reasons.append(f"new query {name}: its history comes by restate")
        elif entry.status == "refused":
            reasons.append(f"refused {name}: {entry.details.get('why', '')}")
    return reasons


def _late(context: Context, part: Slice) -> list[str]:
    """What the slice changed after it was answered, and nothing was published for yet."""
    return [
        f"late data in {stream}: {known.tuples} tuples ({known.why}), changed since they were answered; restate them"
        for stream in context.workspace.streams
        for known in DirtySet(context.catalog).pending(stream)
        if known.slice == part
    ]


def _tell_slices(slices: list[dict[str, Any]]) -> None:
    rows = [[one["slice"], "runs" if one["runs"] else "done", "; ".join(one["why"])] for one in slices]
    print_table(["slice", "", "why"], rows)


def _tell_streams(streams: list[dict[str, Any]]) -> None:
    for stream in streams:
        known = stream["statistics"]
        source = "measured" if known["measured"] else "assumed until a slice is measured"
        unit = "" if stream["time_unit"] is None else f", time unit {stream['time_unit']:g} s"
        say(f"stream {stream['stream']}: {known['tuples_per_second']:,.0f} tuples a second ({source}){unit}")
        for group in stream["groups"]:
            _tell_group(group)
        rows = [[one["name"], one["window"], one["group"][:6], one["panes_per_window"]] for one in stream["queries"]]
        print_table(["query", "window", "group", "panes per window"], rows)
        say(
            f"per million tuples: {stream['stored_per_million']:,} panes stored, {stream['read_per_million']:,} read;"
            f" {stream['saving']:.1%} of the work saved against no sharing"
        )


def _tell_group(group: dict[str, Any]) -> None:
    by = ", ".join(group["keys"]) or "nothing"
    say(f"{group['role']} group {group['name'][:6]}, {group['kind']} by the rule {group['rule']!r}, grouped by {by}")
    for axis, cuts, sizes in (("rows", "cuts", "sizes"), ("time", "time_cuts", "time_sizes")):
        if group[cuts]:
            say(f"  panes of {axis}: sizes {_sizes(group[sizes])}{' s' if axis == 'time' else ' tuples'}")
    say(f"  read by {', '.join(group['queries'])}; about {group['tuples_per_pane_row']:g} tuples a pane row")
    if group["why"]:
        say(f"  {group['why']}")


def _sizes(sizes: list[float]) -> str:
    return ", ".join(f"{size:g}" for size in sizes)
