"""`panelake bench capacity`: what a pipeline of any size takes, computed from rates measured on this machine.

Measures in about three minutes where the machine is quiet, the warming up included; or takes rates measured before.
Then model and simulation are computed, in seconds, and always alike: CSV files, pictures and a page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from panelake.capacity import page, pictures
from panelake.capacity import rates as kept
from panelake.capacity.study import TABLES
from panelake.experiments import table

WRITES = True  # takes where to, and rates measured before


def run(spark: SparkSession | None, folder: Path, tuples: int, out: Path | None, rates: Path | None) -> dict[str, Any]:
    """Measure unless there are rates, write everything, tell where."""
    target = out or folder / "capacity"
    measured = kept.read(rates) if rates else _measured(spark, tuples)
    target.mkdir(parents=True, exist_ok=True)
    kept.write(measured, target / page.RATES_FILE)
    # What is computed with is what was written, digits included: the same again from the file.
    write(kept.read(target / page.RATES_FILE), target)
    return {"folder": str(target), "machine": dict(measured.machine), "page": str(target / page.NAME)}


def write(measured: kept.Measured, target: Path) -> None:
    """Tables, pictures and the page."""
    for name, make in TABLES.items():
        table.write(make(measured.rates), target / f"{name}.csv")
    pictures.draw({name: table.read(target / f"{name}.csv") for name in TABLES}, target)
    page.write(target)


def _measured(spark: SparkSession | None, tuples: int) -> kept.Measured:
    from panelake.benchmarks.capacity_rates import measure  # noqa: PLC0415 - Spark, which given rates need not

    if spark is None:
        raise ValueError("rates are measured with Spark; give a session, or rates measured before")
    return measure(spark, tuples)
