from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.spark import numbering
from panelake.spark.numbering import Block, gather, in_time_order

HISTOGRAMS = st.dictionaries(st.integers(-50, 50), st.integers(1, 9), min_size=1, max_size=40)
BLOCKS = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=5), min_size=1, max_size=6)


@given(HISTOGRAMS, st.integers(1, 20))
def test_ranges_count_every_tuple_once_and_none_is_split(histogram, per_range):
    ranges = gather(histogram, per_range)
    assert ranges.count == sum(histogram.values())
    for start, offset in zip(ranges.starts, ranges.offsets, strict=True):
        assert start in histogram
        assert offset == sum(count for bucket, count in histogram.items() if bucket < start)
    assert len(ranges.starts) <= -(-ranges.count // per_range)


@given(BLOCKS)
def test_blocks_are_in_order_exactly_when_numbering_them_one_by_one_sorts_all(times):
    tuples = [(time, f"f{index}", place) for index, own in enumerate(times) for place, time in enumerate(sorted(own))]
    blocks = [Block(index, f"f{index}", 0, len(own), min(own), max(own)) for index, own in enumerate(times)]
    ordered = in_time_order(blocks)
    if ordered is None:
        return
    placed = [row for block in ordered for row in tuples if row[1] == block.file]
    assert placed == sorted(tuples)


def test_blocks_that_mingle_are_not_in_order_and_those_that_touch_are_by_file():
    assert in_time_order([Block(0, "a", 0, 2, 0, 5), Block(1, "b", 0, 2, 4, 9)]) is None
    touching = [Block(1, "b", 0, 2, 5, 9), Block(0, "a", 0, 2, 0, 5)]
    assert in_time_order(touching) == touching[::-1]
    assert in_time_order([Block(0, "b", 0, 2, 0, 5), Block(1, "a", 0, 2, 5, 9)]) is None


@pytest.mark.spark
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(times=st.lists(st.integers(0, 40), min_size=1, max_size=60), first=st.integers(-100, 100))
def test_tuples_in_many_partitions_get_dense_numbers_by_time_and_place(spark, times, first):
    rows = [(time, place) for place, time in enumerate(times)]
    frame = spark.createDataFrame(rows, "time bigint, place bigint").repartition(3)
    ranges = gather(Counter(times), per_range=7)
    found = numbering.numbered(frame, ranges, first, F.col("time"), ["time", "place"]).collect()
    by_number = sorted((row["_seq"], row["time"], row["place"]) for row in found)
    assert by_number == [(first + index, *row) for index, row in enumerate(sorted(rows))]


@pytest.mark.spark
def test_partitions_in_time_order_are_numbered_where_they_are(spark):
    frame = spark.range(0, 1000, 1, 4).select(
        F.col("id").alias("time"), F.concat(F.lit("f"), F.spark_partition_id().cast("string")).alias("file")
    )
    blocks = [Block(index, f"f{index}", 0, 250, index * 250, index * 250 + 249) for index in range(4)]
    rows = numbering.numbered_in_place(frame, blocks, -7, ["time"], "file").collect()
    assert sorted((row["_seq"], row["time"]) for row in rows) == [(index - 7, index) for index in range(1000)]


@pytest.mark.spark
def test_a_frame_partitioned_otherwise_than_counted_is_refused(spark):
    frame = spark.range(0, 10, 1, 2).select(F.col("id").alias("time"), F.lit("other").alias("file"))
    blocks = [Block(index, f"f{index}", 0, 5, index * 5, index * 5 + 4) for index in range(2)]
    with pytest.raises(Exception, match="cut into other parts"):
        numbering.numbered_in_place(frame, blocks, 0, ["time"], "file").collect()
