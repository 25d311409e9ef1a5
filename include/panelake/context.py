"""What a stage works with: the workspace, its tables, the ledger and a Spark session opened on first use."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from panelake.catalog import Catalog
from panelake.ledger import Ledger
from panelake.locks import Locks
from panelake.spark.session import open_session, require_known
from panelake.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Context:
    """One command's view of a workspace; nothing in it outlives the command."""

    def __init__(
        self,
        workspace: Workspace,
        master: str | None = None,
        *,
        allow_gap: bool = False,
        refresh: bool = False,
        restate: bool = False,
    ) -> None:
        self.workspace = workspace
        self.catalog = Catalog(workspace.warehouse)
        self.ledger = Ledger(self.catalog)
        self.locks = Locks(workspace.warehouse)
        self.allow_gap = allow_gap
        self.refresh = refresh
        self.restate = restate
        self.repairing: frozenset[str] = frozenset()
        self._master = master
        if master is not None:
            require_known(master)  # before anything is written

    @cached_property
    def spark(self) -> SparkSession:
        return open_session(self._master)

    def open_spark(self) -> None:
        """Open the session now, unless it is open."""
        _ = self.spark

    def interrupt(self) -> None:
        """Stop what the session runs on its server: a client that only went away would leave it running."""
        if "spark" in vars(self):
            with suppress(Exception):  # the server may be the very part that is gone
                self.spark.interruptAll()

    def close(self) -> None:
        """End the session, if one was opened."""
        if "spark" in vars(self):
            self.spark.stop()
            del self.spark
