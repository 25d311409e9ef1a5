"""A workspace's tables as Airflow's assets: what a stage changed is announced with its slice and its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from panelake.catalog import Catalog
from panelake.slices import format_instant
from panelake.workspace import Workspace

if TYPE_CHECKING:
    from airflow.sdk import Asset, AssetAlias

    from panelake.ledger import Entry

_INGESTS, _PUBLISHES = "ingest", "publish"


def bronze_asset(workspace: Workspace, stream: str) -> Asset:
    """The stream's accepted tuples."""
    return _asset(workspace, f"bronze/{stream}", Catalog(workspace.warehouse).bronze(stream))


def gold_asset(workspace: Workspace, query: str) -> Asset:
    """The query's published answers."""
    return _asset(workspace, f"gold/{query}", Catalog(workspace.warehouse).gold(query))


def outlets(workspace: Workspace, stage: str) -> list[AssetAlias]:
    """What a stage of the workspace may announce: under one alias, since a refused query's table did not change."""
    from airflow.sdk import AssetAlias  # noqa: PLC0415 - takes seconds, and only Airflow's processes need it

    layers = {_INGESTS: "bronze", _PUBLISHES: "gold"}
    return [AssetAlias(f"{workspace.name}/{layers[stage]}", group="panelake")] if stage in layers else []


def announce(workspace: Workspace, stage: str, entries: Iterable[Entry], outlet_events: Any) -> None:
    """Add an event for each table that the stage changed, with its slice and the rows written."""
    asset_of = {_INGESTS: bronze_asset, _PUBLISHES: gold_asset}.get(stage)
    if asset_of is None:
        return
    [alias] = outlets(workspace, stage)
    for entry in entries:
        if entry.subject and entry.status == "done":
            extra = {"slice": entry.slice.name, "slice_end": format_instant(entry.slice.end), "rows": entry.rows}
            outlet_events[alias].add(asset_of(workspace, entry.subject), extra=extra)


def _asset(workspace: Workspace, table: str, address: str) -> Asset:
    from airflow.sdk import Asset  # noqa: PLC0415 - the same

    uri = address if "://" in address else f"file://{address}"
    return Asset(name=f"{workspace.name}/{table}", uri=uri, group="panelake")
