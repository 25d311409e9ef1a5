"""What comes to the client to be counted: a row a partition and a row a time bucket, never their product."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.slices import Slice
from panelake.stages import counting, filtering
from panelake.stages.verdicts import Rules

SECOND = 1_000_000
PART = Slice(0, 60 * SECOND)
RULES = Rules("ts", lateness=600 * SECOND, future=86_400 * SECOND, where=(), unique=(), max_late=10)
NO_FILTERS = filtering.as_written((), {"ts": "timestamp"}, "ts", "")
PARTITIONS, TUPLES = 4, 2_000


@pytest.mark.spark
def test_late_and_early_tuples_are_counted_in_buckets_that_hold_them_and_never_mix_with_the_slices_own(spark):
    #  −100 s … 0 … 60 s … 100 s, a tuple each tenth of a second, in every partition some of all
    micros = (F.col("id") * 37 % TUPLES) * (SECOND // 10) - 100 * SECOND
    frame = spark.range(0, TUPLES, 1, PARTITIONS).select(
        F.timestamp_micros(micros).alias("ts"),
        F.lit("accepted").alias("_verdict"),
        F.lit(None).cast("string").alias("_reason"),
        F.lit(None).cast("string").alias("_fault"),
        F.lit(False).alias("_released"),  # noqa: FBT003 - Spark's signature
        F.concat(F.lit("f"), F.spark_partition_id().cast("string")).alias("_file"),
        F.lit(0).cast("bigint").alias("_block"),
    )
    counts = counting.count(frame, RULES, PART, NO_FILTERS)
    times = [n * (SECOND // 10) - 100 * SECOND for n in range(TUPLES)]
    assert (counts.read, counts.accepted, counts.low, counts.high) == (TUPLES, TUPLES, times[0], times[-1])
    assert (counts.late, counts.late_high) == (1_000, -SECOND // 10)
    assert sorted(block.count for block in counts.blocks.values()) == [TUPLES // PARTITIONS] * PARTITIONS
    starts = sorted(counts.histogram)
    held = Counter(max(start for start in starts if start <= time) for time in times)
    assert counts.histogram == held
    assert {0, PART.end} <= set(starts)
