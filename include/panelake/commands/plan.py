"""`panelake plan`: explains the pane plan; with --from/--to, which slices would run and why."""

from __future__ import annotations

import argparse
from typing import Any

from panelake.cli import print_json, workspace_folder
from panelake.commands.ranges import add_range_options, chosen_slices
from panelake.console import print_table, say
from panelake.context import Context
from panelake.dirty import DirtySet
from panelake.errors import BadInputError
from panelake.filters.borders import filter_borders, tell_borders
from panelake.filters.explained import cost_text, filter_chains
from panelake.numbers import NumberRange, Numbers, next_range
from panelake.pane_plan import plan_of
from panelake.planning.explain import Explained
from panelake.planning.explain_join import explained_join, tell_joins
from panelake.repairs import shed_reasons
from panelake.runner import ordered
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
        document: dict[str, Any] = {"slices": in_turn(context, chosen_slices(options, context.workspace))}
    else:
        streams = [name for name in context.workspace.streams if context.workspace.queries_of(name)]
        document = {"streams": [Explained(plan_of(context, name)).document() for name in streams]}
        document["joins"] = [explained_join(join) for join in context.workspace.joins.values()]
        document["filters"] = [chain.document() for chain in filter_chains(context)]
        document["borders"] = [border.document() for border in filter_borders(context)]
    if options.json:
        print_json(document)
    elif "slices" in document:
        _tell_slices(document["slices"])
    else:
        _tell_streams(document["streams"])
        tell_joins(document["joins"])
        _tell_filters(document["filters"])
        tell_borders(document["borders"])
    return 0


def in_turn(context: Context, parts: list[Slice]) -> list[dict[str, Any]]:
    """Each slice, with its `turn` where `run` would take it; the first that cannot be numbered ends what it does."""
    found = {part: due(context, part) for part in parts}
    ingested = [entry.slice for entry in context.ledger.entries(stage="ingest", subject="")]
    taken = {name: Numbers(context.catalog).taken(name) for name in context.workspace.streams}
    refusal = None
    for turn, part in enumerate(ordered([part for part in parts if found[part]["runs"]], ingested), start=1):
        refusal = refusal or _refusal(taken, part)
        found[part] |= {"runs": False, "why": [refusal]} if refusal else {"turn": turn}
    return list(found.values())


def _refusal(taken: dict[str, list[NumberRange]], part: Slice) -> str | None:
    """Why the slice could not be numbered after those taken; else it is one of them."""
    try:
        for stream, known in taken.items():
            if all(one.slice != part for one in known):
                known.append(next_range(stream, known, part, 0))
    except BadInputError as error:
        return f"run stops here: {error}"
    return None


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
    rows = [[one["slice"], one.get("turn"), _verdict(one), "; ".join(one["why"])] for one in slices]
    print_table(["slice", "turn", "", "why"], rows)


def _verdict(one: dict[str, Any]) -> str:
    stopped = any(why.startswith("run stops here") for why in one["why"])
    return "runs" if one["runs"] else "stops" if stopped else "done"


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


def _tell_filters(chains: list[dict[str, Any]]) -> None:
    for chain in chains:
        saved = "" if chain["saved"] is None else f"; saves {chain['saved']:.1%} against the order as written"
        say(f"filters of {chain['kind']} {chain['name']}: {chain['why']}{saved}")
        rows = [
            [
                place,
                one["filter"],
                one["written"],
                _share(one["selectivity"]),
                cost_text(one["seconds"]),
                one["fixed"] or "",
            ]
            for place, one in enumerate(chain["filters"], start=1)
        ]
        print_table(["place", "a tuple stays if", "written", "passes", "cost a tuple", "fixed, because"], rows)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
