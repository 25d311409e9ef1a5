"""The tables of a warehouse, by who writes them: large ones by Spark alone, small ones from the clients' processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from pyarrow import fs

from panelake import tables
from panelake.context import Context
from panelake.spark.object_store import open_store

LARGE = ("bronze", "quarantine", "held", "replays", "panes")
_SMALL = ("gold", "state", "ledger", "quality")
Named = tuple[str, str]


def large_tables(context: Context) -> Iterator[Named]:
    """(name, address) of what Spark writes."""
    return _below(context, LARGE)


def small_tables(context: Context) -> Iterator[Named]:
    """(name, address) of what is written without Spark."""
    return _below(context, _SMALL)


def _below(context: Context, kinds: tuple[str, ...]) -> Iterator[Named]:
    warehouse = context.catalog.warehouse
    store, root = open_store(warehouse)
    for kind in kinds:
        found = store.get_file_info(fs.FileSelector(f"{root}/{kind}", allow_not_found=True))
        for name in sorted(PurePosixPath(info.path).name for info in found if info.type == fs.FileType.Directory):
            address = f"{warehouse}/{kind}/{name}"
            if tables.exists(address):
                yield f"{kind}/{name}", address
