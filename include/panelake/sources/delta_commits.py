"""Another Delta table's commits: the files that each append added, taken once, in the order of commits.

A commit that changed or removed rows is an error: what was ingested could not follow it. Rearranging commits
(OPTIMIZE) change no rows and are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.errors import BadInputError, PartDownError
from panelake.slices import Slice
from panelake.sources import parquet
from panelake.sources.files import SourceFile, open_file
from panelake.sources.inputs import Recorded
from panelake.workspace import Workspace

_Partition = tuple[tuple[str, str | None], ...]


class Reader(parquet.Reader):
    """Reads what was appended to a table."""

    def __init__(self, workspace: Workspace, stream: str, optional: frozenset[str] = frozenset()) -> None:
        super().__init__(workspace, stream, optional)
        self._partitions: dict[str, _Partition] = {}

    def pieces(self, part: Slice, recorded: Recorded) -> list[SourceFile]:  # noqa: ARG002 - the log tells all
        """Every file that a commit added, oldest commit first; `modified` is the commit's version."""
        return [piece for version, actions in self._commits() for piece in self._added(version, actions)]

    def _commits(self) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        filesystem, root = open_file(self.stream, self._path)
        log = fs.FileSelector(f"{root}/_delta_log", allow_not_found=True)
        names = sorted(info.path for info in filesystem.get_file_info(log) if info.path.endswith(".json"))
        commits = [name for name in names if name.rpartition("/")[2].removesuffix(".json").isdigit()]
        if not commits:
            raise PartDownError(f"stream {self.stream}: {self._path} is no Delta table; correct 'source.path'")
        if int(commits[0].rpartition("/")[2].removesuffix(".json")):
            raise BadInputError(
                f"stream {self.stream}: the log of {self._path} begins at {commits[0]}: its first commits were cleaned"
                " up, so that what they added cannot be told; keep the table's log longer"
            )
        for name in commits:
            with filesystem.open_input_stream(name) as file:
                lines = file.read().decode("utf-8").splitlines()
            yield int(name.rpartition("/")[2].removesuffix(".json")), [json.loads(line) for line in lines if line]

    def _added(self, version: int, actions: list[dict[str, Any]]) -> list[SourceFile]:
        removed = [action["remove"] for action in actions if "remove" in action]
        if any(action.get("dataChange", True) for action in removed):
            done = next((action["commitInfo"].get("operation") for action in actions if "commitInfo" in action), "?")
            raise BadInputError(
                f"stream {self.stream}: commit {version} of {self._path} ({done}) removed or changed rows; a stream"
                " takes appends alone: write changes to another table, or declare a new stream over this one"
            )
        added = [action["add"] for action in actions if "add" in action]
        return [self._piece(version, add) for add in added if add.get("dataChange", True)]

    def _piece(self, version: int, add: dict[str, Any]) -> SourceFile:
        if add.get("deletionVector"):
            raise BadInputError(
                f"stream {self.stream}: {self._path} has deletion vectors; a stream takes appends alone"
            )
        own = unquote(add["path"])
        path = own if "://" in own or own.startswith("/") else f"{self._path}/{own}"
        self._partitions[path] = tuple(sorted((add.get("partitionValues") or {}).items()))
        return SourceFile(path, add["size"], version)

    def _kind(self, piece: SourceFile) -> str:
        """Files of one kind are read in one go: they share their partition, whose values their rows do not hold."""
        partition = self._partition(piece)
        return super()._kind(piece) + (json.dumps(partition) if partition else "")

    def _partition(self, piece: SourceFile) -> _Partition:
        return self._partitions.get(piece.path, ())

    def _load(self, spark: SparkSession, files: Sequence[SourceFile], schema: str | None = None) -> DataFrame:
        frame = super()._load(spark, files, schema)
        for name, value in self._partition(files[0]):
            frame = frame.withColumn(name, F.lit(value).cast(self.declared.columns.get(name, "string")))
        return frame
