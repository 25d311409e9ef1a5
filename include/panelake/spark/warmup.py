"""The queries a fresh server runs first, so that no client pays for loading Spark's and Delta's classes."""

from __future__ import annotations

import shutil

from panelake.home import home
from panelake.spark import probe

_STATEMENTS = (
    "SELECT 1",
    "CREATE OR REPLACE TABLE {table} USING delta AS SELECT id, id % 7 AS part FROM range(1000)",
    "INSERT INTO {table} REPLACE WHERE part = 1 SELECT id, 1L FROM range(10)",
    "SELECT part, count(*), sum(id) FROM {table} GROUP BY part ORDER BY part",
)


def run(url: str) -> None:
    """Write and read a small Delta table."""
    folder = home() / "scratch" / "server" / "warmup"
    table = f"delta.`{folder}`"
    for statement in _STATEMENTS:
        probe.ask(url, statement.format(table=table), seconds=180)
    shutil.rmtree(folder, ignore_errors=True)
