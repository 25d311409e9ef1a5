"""The generator's minutes, made without Spark."""

from __future__ import annotations

import pyarrow as pa

from panelake.durations import MINUTE
from panelake.sources.generated import generated


def test_minutes_before_the_epoch_are_made_as_others_are():
    asked = pa.RecordBatch.from_pylist([{"piece": "early", "start": -5 * MINUTE, "tuples": 60}])
    made = pa.Table.from_batches(generated([asked], "traffic", "cars", 1.0, 0))
    assert made.num_rows == 60
    times = made["ts"].cast(pa.int64()).to_pylist()
    assert min(times) >= -5 * MINUTE
    assert max(times) < -4 * MINUTE
