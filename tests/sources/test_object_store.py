from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.errors import BadInputError, PartDownError
from panelake.sources.files import list_files
from panelake.spark import object_store as settings

HELPER = Path(__file__).parents[1] / "stages" / "ingest_world.py"
spec = importlib.util.spec_from_file_location("ingest_world", HELPER)
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
assert_conserved, line, minute, table = (
    ingest_world.assert_conserved,
    ingest_world.line,
    ingest_world.minute,
    ingest_world.table,
)


class StoredWorld(ingest_world.World):
    """A world whose files land in the store, and whose warehouse lies there."""

    def __init__(self, folder, master, store, form, path):
        self.root = f"{store}/{folder.name}"
        super().__init__(folder, master, f"{{format: {form}, path: '{self.root}/{path}'}}", "lateness: 1 minute")

    def declare(self, source="", more="", columns=ingest_world.COLUMNS):
        super().declare(source, more, columns)
        settings_file = self.folder / "streams.yaml"
        settings_file.write_text(f"warehouse: {self.root}/warehouse\n{settings_file.read_text()}")

    def put(self, name, content):
        """One object; the store has no folders."""
        with settings.file_system("lake").open_output_stream(f"{self.root.removeprefix('s3a://')}/{name}") as stream:
            if isinstance(content, bytes):
                stream.write(content)
            else:
                pq.write_table(content, stream)

    def rows(self, table_name):
        return DeltaTable(f"{self.root}/warehouse/{table_name}/cars").to_pyarrow_table().to_pylist()


@pytest.mark.spark
def test_a_folder_a_slice_comes_from_the_store_and_bronze_lies_there_the_same_each_time(
    tmp_path, spark_server, object_store
):
    #  0000: 5 s, 3 s, garbage, 65 s (early)     0001: 66 s, 4 s (late)
    world = StoredWorld(tmp_path, spark_server, object_store, "json", "landing/{start:%H%M}")
    world.put(
        "landing/0000/a 1%.json", "\n".join([line(1, 1.0, 5), line(2, 2.0, 3), "garbage", line(3, 1.0, 65)]).encode()
    )
    world.put("landing/0001/b.json", "\n".join([line(4, 1.0, 66), line(5, 1.0, 4)]).encode())
    entries = [world.ingest(minute(index)) for index in range(2)]
    for entry in entries:
        assert_conserved(entry)
    assert world.numbered() == [(0, 2, 3), (1, 1, 5), (2, 5, 4), (3, 3, 65), (4, 4, 66)]
    assert world.quarantined() == [("garbage", "not a JSON object")]
    before, bad = world.bronze(), world.quarantined()
    world.ingest(minute(0))
    world.ingest(minute(1))
    assert world.bronze() == before
    assert world.quarantined() == bad


@pytest.mark.spark
def test_files_below_one_path_are_taken_by_event_time_and_late_ones_are_found(tmp_path, spark_server, object_store):
    #  a (5 s, 3 s out of order, 70 s)   b (10 s)   and, landed after slice 0 was done: c (20 s)
    world = StoredWorld(tmp_path, spark_server, object_store, "parquet", "landing")
    world.put("landing/a.parquet", table([(1, 1.0, 5), (2, 1.0, 3), (3, 1.0, 70)]))
    world.put("landing/deep/b.parquet", table([(4, 1.0, 10)]))
    first = world.ingest(minute(0))
    assert (first.rows, first.details["late"]) == (3, 0)
    world.put("landing/c.parquet", table([(5, 1.0, 20)]))
    second = world.ingest(minute(1))
    assert (second.rows, second.details["late"]) == (2, 1)
    expected = [(0, 2, 3), (1, 1, 5), (2, 4, 10), (3, 5, 20), (4, 3, 70)]
    assert world.numbered() == expected
    world.ingest(minute(0))
    assert world.numbered() == expected
    world.put("landing/a.parquet", table([(1, 1.0, 5)]))
    with pytest.raises(BadInputError, match=r"a\.parquet changed since slice"):
        world.ingest(minute(0))


@pytest.mark.spark
def test_a_bucket_that_is_not_there_is_named(object_store):
    with pytest.raises(PartDownError, match=r"stream cars.*s3a://nowhere/landing"):
        list_files("cars", f"{object_store.replace('lake', 'nowhere')}/landing")


def test_a_store_of_ones_own_is_asked_by_path_and_no_key_stands_in_the_settings(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    found = settings.settings()
    assert found["spark.hadoop.fs.s3a.endpoint"] == "http://127.0.0.1:9000"
    assert found["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert found["spark.hadoop.fs.s3a.endpoint.region"] == "eu-central-1"
    assert not [key for key in found if "key" in key or "secret" in key]


def test_without_an_endpoint_the_store_is_amazons(monkeypatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    assert settings.settings() == {"spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem"}
