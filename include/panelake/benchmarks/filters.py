"""`panelake bench filters`: simulated costs of all policies, then six real filters through Spark, DuckDB beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from panelake.benchmarks.filter_policies import simulate
from panelake.benchmarks.real_filters import compare


def run(spark: SparkSession, folder: Path, tuples: int) -> dict[str, Any]:
    """Both parts, each with its targets."""
    parts = {"simulated": simulate(), "spark": compare(spark, folder, tuples)}
    return {**parts, "targets": [target for part in parts.values() for target in part.pop("targets")]}
