"""Imports what tasks need, once, in the scheduler: its workers and their tasks are forked from it and have it at once.

Airflow loads this module in each of its processes, by the entry point `airflow.policy`. It does nothing unless
PANELAKE_PRELOAD is set, as `make up` does for the scheduler. It imports and does no more: a thread or a connection
would not live through a fork.
"""

from __future__ import annotations

import os
from importlib import import_module

PRELOAD_VARIABLE = "PANELAKE_PRELOAD"
MODULES = (
    *(f"panelake.stages.{name}" for name in ("ingest", "panes", "windows", "join", "audit", "publish", "report")),
    "panelake.runner",
    "panelake.spark.patience",
    "panelake.spark.warmup",
    "panelake.orchestration.awaited_sources",
    "panelake.orchestration.neighbours",
    "pyspark.sql.connect.session",
    "great_expectations.data_context.types.base",
    "airflow.sdk.execution_time.task_runner",
    "airflow.providers.apache.spark.hooks.spark_connect",
)


def preload() -> None:
    """Import all of it."""
    from panelake.quality.gate import load_expectations  # noqa: PLC0415 - takes seconds

    load_expectations()
    for name in MODULES:
        import_module(name)


if os.environ.get(PRELOAD_VARIABLE):
    preload()
