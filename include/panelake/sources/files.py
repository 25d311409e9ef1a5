"""Files below a stream's source path: which there are, and what is known of each.

Names are whatever a sender chose: nothing below the path may lead out of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from panelake.errors import BadInputError, PartDownError
from panelake.slices import to_microseconds
from panelake.spark import object_store


@dataclass(frozen=True, order=True)
class SourceFile:
    """One file as it was seen: a file whose size or time differs is another file.

    Other sources use it for their own pieces: an offset range, a file of another table.
    """

    path: str
    size: int
    modified: int


def list_files(stream: str, address: str, *, may_be_missing: bool = False) -> list[SourceFile]:
    """Every file below the path in the order of its name; hidden and unfinished ones ('.', '_') left out."""
    filesystem, root = open_file(stream, address)
    kind = filesystem.get_file_info(root).type
    if kind == fs.FileType.NotFound and may_be_missing:
        return []
    if kind == fs.FileType.NotFound:
        raise PartDownError(
            f"stream {stream}: source path {address} does not exist; expected a folder of files."
            " Create it, correct 'source.path' in streams.yaml, or make data with 'panelake generate'"
        )
    found = filesystem.get_file_info(fs.FileSelector(root, recursive=True)) if kind == fs.FileType.Directory else [
        filesystem.get_file_info(root)
    ]  # fmt: skip
    prefix = "" if isinstance(filesystem, fs.LocalFileSystem) else _before(address, root)
    files = [_seen(info, prefix) for info in found if info.type == fs.FileType.File and _is_data(info.path, root)]
    if not prefix:
        _refuse_escaping(stream, root, files)
    return sorted(files)


def open_file(stream: str, address: str) -> tuple[fs.FileSystem, str]:
    """The file system of a listed file or folder, and its path in it; a store's keys come by the usual variables."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        return fs.LocalFileSystem(), address
    host, _, path = rest.partition("/")
    try:
        if scheme in object_store.SCHEMES:
            return object_store.file_system(host), f"{host}/{path}".rstrip("/")
        # Only the host is read as a URI: a name may hold any character.
        filesystem, base = fs.FileSystem.from_uri(f"{scheme}://{host}/")
    except (OSError, ValueError) as error:
        raise PartDownError(f"stream {stream}: source {address} cannot be opened: {error}") from None
    return filesystem, f"{base.rstrip('/')}/{path}".rstrip("/")


def own_path(address: str) -> str:
    """A listed file's path without scheme and host."""
    _, mark, rest = address.partition("://")
    return f"/{rest.partition('/')[2]}" if mark else address


def plain_path(address: str) -> str:
    """A path without its scheme and escapes: Spark names files as URIs."""
    return unquote(urlsplit(address).path) if "://" in address or address.startswith("file:") else address


def _refuse_escaping(stream: str, root: str, files: list[SourceFile]) -> None:
    """A link among landed files must not bring in what lies elsewhere on this machine."""
    real = os.path.realpath(root)
    for file in files:
        target = os.path.realpath(file.path)
        if target != real and not Path(target).is_relative_to(real):
            raise BadInputError(
                f"stream {stream}: {file.path} is a link to {target}, outside of the source path {root};"
                " land the file itself"
            )


def _before(address: str, root: str) -> str:
    """What stands before a path of the store to make it an address that Spark reads."""
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if root.startswith("/") else f"{scheme}://"


def _seen(info: fs.FileInfo, prefix: str) -> SourceFile:
    return SourceFile(f"{prefix}{info.path}", info.size, to_microseconds(info.mtime))


def _is_data(path: str, root: str) -> bool:
    below = PurePosixPath(path).relative_to(root).parts or (PurePosixPath(path).name,)
    return not any(part.startswith((".", "_")) for part in below)
