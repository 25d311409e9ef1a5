"""What a DAG downstream of gold does in the example: tells the newest answers of each query that was published."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_SHOWN = 6

log = logging.getLogger(__name__)


def tell_new_answers(workspace_folder: str, triggering_asset_events: Mapping[Any, Sequence[Any]] | None = None) -> int:
    """Log what each event says and the newest rows of its table; give how many rows were announced."""
    from panelake.catalog import Catalog  # noqa: PLC0415 - heavy, and only needed when the task runs
    from panelake.report.answers import newest_rows  # noqa: PLC0415
    from panelake.workspace import load_workspace  # noqa: PLC0415

    workspace = load_workspace(Path(workspace_folder))
    announced = 0
    for asset, events in (triggering_asset_events or {}).items():
        if not hasattr(asset, "uri"):  # the alias it was announced under, with the same events
            continue
        query = asset.name.rpartition("/")[2]
        for event in events:
            announced += event.extra["rows"]
            log.info("%s: %s rows of the slice from %s", query, event.extra["rows"], event.extra["slice"])
        rows = newest_rows(Catalog(workspace.warehouse).gold(query), workspace.all_queries[query], _SHOWN)
        for row in [] if rows is None else rows.to_pylist():
            log.info("%s: %s", query, row)
    return announced
