"""Staged answers that wait for nothing any more: those of published slices, by stream and of all joins together."""

from __future__ import annotations

from pyarrow import fs

from panelake.context import Context
from panelake.slices import Slice
from panelake.spark.object_store import open_store

JOINS = "_joins"


def published(context: Context, name: str) -> list[Slice]:
    """The published slices that still have staged answers; those of refused ones are kept for inspection."""
    store, root = _root(context, name)
    found = store.get_file_info(fs.FileSelector(root, allow_not_found=True))
    there = {info.base_name for info in found if info.type == fs.FileType.Directory}
    return sorted(part for part in context.ledger.done("publish") if part.folder in there)


def remove(context: Context, name: str, parts: list[Slice]) -> None:
    """Delete the slices' staged answers."""
    store, root = _root(context, name)
    for part in parts:
        store.delete_dir(f"{root}/{part.folder}")


def _root(context: Context, name: str) -> tuple[fs.FileSystem, str]:
    return open_store(f"{context.catalog.warehouse}/staging/{name}")
