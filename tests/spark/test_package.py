from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from panelake.errors import BadInputError
from panelake.spark import cluster
from panelake.spark.package import package_archive, package_digest
from panelake.spark.settings import PACKAGE_SETTING, classic_settings, server_settings


def test_the_archive_holds_the_whole_package_and_no_compiled_file():
    names = set(zipfile.ZipFile(package_archive()).namelist())
    assert {"__init__.py", "kernels/sliding.py", "report/templates/base.html"} <= names
    assert not any("__pycache__" in name for name in names)


def test_an_unpacked_archive_is_the_package(tmp_path):
    zipfile.ZipFile(package_archive()).extractall(tmp_path / "panelake")
    code = "import panelake.durations as d; print(d.__file__)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": "."}, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(tmp_path / "panelake" / "durations.py"), done.stderr


def test_the_same_package_gives_the_same_bytes():
    first = package_archive().read_bytes()
    package_archive().unlink()
    assert package_archive().read_bytes() == first
    assert package_digest() in package_archive().name


def test_only_executors_of_a_cluster_are_sent_the_package(monkeypatch):
    assert "spark.archives" not in classic_settings("local[2]")
    assert classic_settings("spark://host:7077")["spark.archives"].endswith(".zip#panelake")
    monkeypatch.setenv("PANELAKE_SERVER_MASTER", "spark://host:7077")
    there = server_settings(15002, "10.0.0.7")
    assert there["spark.archives"] == f"{package_archive().as_uri()}#panelake"
    assert there["spark.connect.grpc.binding.address"] == "10.0.0.7"
    assert there[PACKAGE_SETTING] == package_digest()
    assert "spark.driver.bindAddress" not in there


def test_a_cluster_takes_its_python_memory_and_secret_from_the_environment(monkeypatch):
    assert cluster.settings()["spark.pyspark.python"] == sys.executable
    assert "spark.authenticate" not in cluster.settings()
    monkeypatch.setenv("PANELAKE_WORKER_PYTHON", "python3")
    monkeypatch.setenv("PANELAKE_EXECUTOR_MEMORY", "3g")
    monkeypatch.setenv("_SPARK_AUTH_SECRET", "a secret of this test")
    told = cluster.settings()
    assert (told["spark.pyspark.python"], told["spark.executor.memory"]) == ("python3", "3g")
    assert told["spark.authenticate"] == "true"
    assert "a secret of this test" not in str(told)


def test_a_memory_that_is_no_size_is_refused(monkeypatch):
    monkeypatch.setenv("PANELAKE_EXECUTOR_MEMORY", "much")
    with pytest.raises(BadInputError, match="PANELAKE_EXECUTOR_MEMORY is 'much'"):
        cluster.settings()
