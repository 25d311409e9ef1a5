from __future__ import annotations

import pytest
from pyarrow import fs

from panelake.errors import BadInputError, PartDownError
from panelake.sources.files import list_files, open_file, own_path, plain_path
from panelake.spark import object_store


def test_files_come_in_the_order_of_their_names_without_hidden_and_unfinished_ones(tmp_path):
    for name in ("b.json", "a.json", ".c.json", "_d.json", "deep/e.json", "_tmp/f.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = list_files("cars", str(tmp_path))
    assert [file.path for file in found] == [str(tmp_path / name) for name in ("a.json", "b.json", "deep/e.json")]
    assert found[0].size == 1


def test_a_path_that_does_not_exist_is_named_unless_it_may_be_missing(tmp_path):
    with pytest.raises(PartDownError, match="nowhere does not exist"):
        list_files("cars", str(tmp_path / "nowhere"))
    assert list_files("cars", str(tmp_path / "nowhere"), may_be_missing=True) == []


def test_a_link_out_of_the_path_is_refused_and_one_inside_is_not(tmp_path):
    landing = tmp_path / "landing"
    landing.mkdir()
    (landing / "a").write_text("x")
    (landing / "inside").symlink_to(landing / "a")
    assert len(list_files("cars", str(landing))) == 2
    (landing / "outside").symlink_to("/etc/hostname")
    with pytest.raises(BadInputError, match="outside is a link to /etc/hostname, outside of the source path"):
        list_files("cars", str(landing))


def test_files_of_an_object_store_keep_the_address_that_spark_reads(tmp_path, monkeypatch):
    # A folder stands for the store: S3's paths begin with the bucket.
    (tmp_path / "bucket" / "landing").mkdir(parents=True)
    (tmp_path / "bucket" / "landing" / "a 1%.json").write_text("x")
    asked = []

    def store(bucket):
        asked.append(bucket)
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())

    monkeypatch.setattr(object_store, "file_system", store)
    (found,) = list_files("cars", "s3a://bucket/landing")
    assert (found.path, found.size) == ("s3a://bucket/landing/a 1%.json", 1)
    filesystem, path = open_file("cars", found.path)
    assert filesystem.open_input_stream(path).read() == b"x"
    assert set(asked) == {"bucket"}
    assert own_path(found.path) == plain_path("s3a://bucket/landing/a%201%25.json") == "/landing/a 1%.json"
