from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import time

import pyarrow as pa
import pytest

import panelake
from panelake.errors import BadInputError, PartDownError, TransientError
from panelake.spark import probe
from panelake.spark.session import open_session, spark_session, use_utc

# The same work on any session: two slices, the older one written again after the newer.
ROUND_TRIP = """
def write_slice(spark, path, part, rows):
    frame = spark.range(rows).selectExpr("id", f"{part} AS part")
    writer = frame.write.format("delta").mode("overwrite")
    writer.option("replaceWhere", f"part = {part}").save(path)

def round_trip(spark, path):
    for part, rows in ((1, 10), (2, 20), (1, 15), (1, 15)):
        write_slice(spark, path, part, rows)
    counts = spark.read.format("delta").load(path).groupBy("part").count()
    return {row["part"]: row["count"] for row in counts.collect()}
"""

CLASSIC = (
    ROUND_TRIP
    + """
import json, sys
from panelake.spark.session import spark_session
with spark_session("local[1]", "classic test") as spark:
    print(json.dumps({
        "kind": type(spark).__module__,
        "name": spark.conf.get("spark.app.name"),
        "zone": spark.conf.get("spark.sql.session.timeZone"),
        "counts": round_trip(spark, sys.argv[1]),
    }))
"""
)


def round_trip(spark, path) -> dict[int, int]:
    scope: dict[str, object] = {}
    exec(ROUND_TRIP, scope)  # noqa: S102 - the text above, which the classic test runs in a process of its own
    return scope["round_trip"](spark, str(path))


@pytest.mark.spark
def test_slices_are_replaced_one_by_one_over_connect(spark, tmp_path):
    assert round_trip(spark, tmp_path / "table") == {1: 15, 2: 20}


@pytest.mark.spark
def test_a_classic_session_does_the_same_and_leaves_nothing_behind(tmp_path):
    here = tmp_path / "cwd"
    here.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", CLASSIC, str(tmp_path / "table")],
        cwd=here,
        # As in a child of a client's process: the mode is inherited and must not be believed.
        env=os.environ | {"SPARK_CONNECT_MODE_ENABLED": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["kind"] == "pyspark.sql.session"
    assert (said["name"], said["zone"]) == ("classic test", "UTC")
    assert said["counts"] == {"1": 15, "2": 20}
    assert list(here.iterdir()) == []


@pytest.mark.spark
def test_timestamps_cross_into_python_in_utc(spark):
    row = spark.sql("SELECT TIMESTAMP '2024-03-31 02:30:00' AS t").first()
    assert row["t"] == dt.datetime(2024, 3, 31, 2, 30)  # noqa: DTZ001 - Spark hands over naive local times
    frame = spark.sql("SELECT TIMESTAMP '2024-03-31 02:30:00' AS t").toPandas()
    assert str(frame["t"][0]) == "2024-03-31 02:30:00"


@pytest.mark.spark
def test_python_workers_are_this_python_and_know_the_package(spark):
    def tell(batches):
        for batch in batches:
            said = f"{sys.executable} {panelake.__version__}"
            yield pa.RecordBatch.from_pydict({"said": [said] * batch.num_rows})

    row = spark.range(1).mapInArrow(tell, "said string").first()
    assert row["said"] == f"{sys.executable} {panelake.__version__}"


@pytest.mark.spark
def test_sessions_of_one_server_do_not_share_their_settings(spark, spark_server):
    with spark_session(spark_server) as other:
        other.conf.set("spark.sql.shuffle.partitions", "7")
        assert spark.conf.get("spark.sql.shuffle.partitions") != "7"


@pytest.mark.spark
def test_the_master_variable_names_the_server(spark_server, monkeypatch):
    monkeypatch.setenv("PANELAKE_MASTER", spark_server)
    with spark_session() as session:
        assert session.range(5).count() == 5


@pytest.mark.spark
def test_a_classic_session_beside_a_connect_one_is_refused(spark):
    assert spark.range(1).count() == 1
    with pytest.raises(BadInputError, match="Connect session open"):
        open_session("local[1]")


@pytest.mark.spark
def test_a_failing_query_is_no_server_failure(spark_server):
    with pytest.raises(PartDownError, match="failed a query") as raised:
        probe.ask(spark_server, "SELECT no_such_column")
    assert not raised.value.transient


def test_an_unreachable_server_is_transient_and_named():
    url = "sc://127.0.0.1:1"
    with pytest.raises(TransientError, match=url) as raised:
        open_session(url)
    assert raised.value.exit_code == 3
    assert "PANELAKE_MASTER" in str(raised.value)


@pytest.mark.parametrize("master", ["http://somewhere", "sc//127.0.0.1", "cluster"])
def test_an_unknown_master_shows_the_forms_expected(master):
    with pytest.raises(BadInputError, match=r"expected sc://host:port .*local\[\*\]"):
        open_session(master)


@pytest.mark.parametrize("url", ["sc://", "sc://host:notaport"])
def test_a_malformed_connect_url_is_bad_input(url):
    with pytest.raises(BadInputError, match="expected sc://host:port"):
        open_session(url)


def test_local_time_is_utc(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    use_utc()
    assert time.localtime(0).tm_hour == 0
