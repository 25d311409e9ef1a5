"""Writes the files of the report, each whole or not at all, and removes those of slices that are no longer shown.

What Great Expectations shows of a slice is written by its audit, and stays as long as the slice has a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from pyarrow import fs

from panelake import tables
from panelake.errors import PartDownError
from panelake.spark.object_store import open_store

INDEX = "index.html"
DATA_DOCS, _SLICES = "data_docs", "slice"
_WRITTEN = (".html", ".js")  # what is removed when it is no longer part of the report


def write_site(address: str, pages: Mapping[str, str]) -> str:
    """Write files by their path below the address, pages after what they load, the index last; give its path."""
    order = sorted(pages, key=lambda path: (path == INDEX, path.endswith(".html"), path))
    try:
        write = _write_local if tables.is_local(address) else _write_remote
        write(address, {path: pages[path] for path in order})
    except OSError as error:
        raise PartDownError(f"the report cannot be written to {address}: {error}; make the folder writable") from None
    return f"{address.removeprefix('file://')}/{INDEX}"


def write_page(address: str, path: str, html: str) -> None:
    """Write one page beside those that are there."""
    if tables.is_local(address):
        _write_page(Path(address.removeprefix("file://")) / path, html.encode())
    else:
        store, root = open_store(address)
        _put(store, f"{root}/{path}", html)


def pages_in(address: str, folder: str) -> set[str]:
    """The paths of the pages that a folder of the report holds now."""
    store, root = open_store(address)
    found = store.get_file_info(fs.FileSelector(f"{root}/{folder}", allow_not_found=True))
    return {f"{folder}/{file.base_name}" for file in found if file.extension == "html"}


def _is_stale(path: str, pages: Mapping[str, str]) -> bool:
    folder, _, name = path.rpartition("/")
    return path.endswith(_WRITTEN) and (f"{_SLICES}/{name}" if folder == DATA_DOCS else path) not in pages


def _write_local(address: str, pages: Mapping[str, str]) -> None:
    root = Path(address.removeprefix("file://"))
    for path, html in pages.items():
        _write_page(root / path, html.encode())
    for stale in root.rglob("*"):
        if _is_stale(stale.relative_to(root).as_posix(), pages):
            stale.unlink(missing_ok=True)


def _write_page(target: Path, html: bytes) -> None:
    """Two runs may build at once: a page that changed is moved into place whole."""
    if target.is_file() and target.read_bytes() == html:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.{uuid4().hex}")
    fresh.write_bytes(html)
    fresh.replace(target)


def _write_remote(address: str, pages: Mapping[str, str]) -> None:
    store, root = open_store(address)
    for path, html in pages.items():
        _put(store, f"{root}/{path}", html)
    there = store.get_file_info(fs.FileSelector(root, recursive=True))
    for file in there:
        inside = file.path.removeprefix(f"{root}/")
        if file.type == fs.FileType.File and _is_stale(inside, pages):
            store.delete_file(file.path)


def _put(store: fs.FileSystem, path: str, html: str) -> None:
    store.create_dir(path.rpartition("/")[0], recursive=True)
    with store.open_output_stream(path) as output:
        output.write(html.encode())
