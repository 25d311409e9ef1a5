"""Staged answers: a slice's rows as the windows stage wrote them, before anyone may read them as gold.

Files are never changed once written and their names are never used again, so a digest of the names says whether what
is published is what was audited. Every attempt has a folder of its own, which the stage's entry names: a job that a
killed client left goes on for a while, and may write when the slice is answered anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from panelake import gold
from panelake.language.query import AggregateQuery
from panelake.spark.object_store import open_store
from panelake.spark.types import arrow_type

_QUERY_FOLDER = "_query="
_PLACE = ["_window_start", "_window_end"]
KEPT = "_kept"
_ATTEMPT = "attempt"


@dataclass(frozen=True)
class Staged:
    """A query's staged rows under gold's names and types, and the digest of the files they came from.

    `gone` are rows of restated windows that HAVING drops now: what gold has of them must go.
    """

    rows: pa.Table
    digest: str
    gone: pa.Table


def fresh_attempt(folder: str) -> dict[str, str]:
    """The details that name a folder to stage anew in, below that of the slice; what was staged there before goes."""
    filesystem, root = open_store(folder)
    filesystem.delete_dir_contents(root, missing_dir_ok=True)
    return {_ATTEMPT: uuid4().hex}


def attempt_folder(folder: str, details: Mapping[str, Any]) -> str:
    """Where the stage's entry says that its answers are staged; entries of old name no attempt."""
    return f"{folder}/{details[_ATTEMPT]}" if _ATTEMPT in details else folder


def join_results(folder: str, details: Mapping[str, Any]) -> str:
    """Where a join's results are; its states, if it has any, lie beside them."""
    return f"{attempt_folder(folder, details)}/_what=results"


def staged_rows(folder: str, query: str) -> int:
    """How many rows are staged for a query, by the files' footers."""
    files = _files(folder, query)
    if files is None:
        return 0
    return int(files.count_rows(filter=pc.field(KEPT) if KEPT in files.schema.names else None))


def parquet_rows(folder: str) -> int:
    """How many rows a folder of Parquet files holds, by the files' footers."""
    files = open_parquet(folder)
    return int(files.count_rows()) if files else 0


def open_parquet(path: str) -> ds.FileSystemDataset | None:
    """A folder of Parquet files; None where there is no such folder."""
    filesystem, root = open_store(path)
    if filesystem.get_file_info(root).type != fs.FileType.Directory:
        return None
    return ds.dataset(root, filesystem=filesystem, format="parquet")


def staged_answers(folder: str, query: AggregateQuery, details: Mapping[str, Any]) -> Staged:
    """What is staged for a query, whose columns' types and names in the files its windows' entry tells."""
    columns = pa.schema([(name, arrow_type(kind)) for name, kind in details["types"].items()])
    schema = gold.answer_schema(columns, query.window.kind)
    files = _files(folder, query.name)
    if files is None:
        return Staged(schema.empty_table(), digest([]), schema.empty_table())
    names = [*_PLACE, *(details["columns"][name] for name in columns.names)]
    read = {name: pc.field(held) for name, held in zip(schema.names, names, strict=True)}
    limited = KEPT in files.schema.names
    kept, dropped = (pc.field(KEPT), ~pc.field(KEPT)) if limited else (None, pc.scalar(False))  # noqa: FBT003
    rows, gone = (files.to_table(columns=read, filter=wanted).cast(schema) for wanted in (kept, dropped))
    return Staged(rows, digest(files.files), gone)


def _files(folder: str, query: str) -> ds.FileSystemDataset | None:
    return open_parquet(f"{folder}/{_QUERY_FOLDER}{query}")


def digest(files: list[str]) -> str:
    """What tells one set of files from another."""
    return hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()
