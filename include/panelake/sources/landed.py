"""Files that land in a folder or an object store: the part that all file formats share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from panelake.slices import Slice
from panelake.sources.files import SourceFile, list_files
from panelake.sources.glance import Glance
from panelake.sources.inputs import UNKNOWN, InputFile, Recorded, TimeSpan
from panelake.streams import Stream, filled_template, is_template
from panelake.workspace import Workspace


class LandedFiles:
    """Lists a stream's files; formats add how to read them."""

    parses = True

    def __init__(self, workspace: Workspace, stream: str, optional: frozenset[str] = frozenset()) -> None:
        self.stream = stream
        self.declared: Stream = workspace.streams[stream]
        self.optional = optional if self.declared.source.drift == "quarantine" else frozenset(self.declared.columns)
        self._path = workspace.source_path(stream)

    @property
    def accepts_extra(self) -> bool:
        return self.declared.source.drift == "accept"

    def pieces(self, part: Slice, recorded: Recorded) -> list[SourceFile]:  # noqa: ARG002 - files are there or not
        """The files below the path, or below the slice's own folder, which may have received none."""
        if is_template(self._path):
            return list_files(self.stream, filled_template(self._path, part), may_be_missing=True)
        return list_files(self.stream, self._path)

    def span(self, piece: SourceFile) -> TimeSpan:  # noqa: ARG002 - a format without statistics cannot tell
        """Unknown until the file is read."""
        return UNKNOWN

    def glance(self, taken: InputFile, part: Slice) -> Glance | None:  # noqa: ARG002 - the same
        """Nothing, until the file is read."""
        return None


def load(
    spark: SparkSession, form: str, files: Sequence[SourceFile], schema: str | None = None, **options: str
) -> DataFrame:
    """The files as Spark reads them; a name is a name, whatever characters of patterns it holds."""
    reader = spark.read.format(form).options(**options)
    return (reader.schema(schema) if schema else reader).load([_as_name(file.path) for file in files])


def _as_name(path: str) -> str:
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
