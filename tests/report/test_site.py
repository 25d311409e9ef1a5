from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from panelake.errors import PartDownError
from panelake.report.site import _write_local, _write_remote, write_site

Writer = Callable[[str, Mapping[str, str]], None]


def held(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", [_write_local, _write_remote], ids=["local", "remote"])
def test_pages_are_replaced_and_those_no_longer_wanted_go(tmp_path: Path, write: Writer) -> None:
    address = (tmp_path / "report").as_uri()
    write(address, {"slice/a.html": "ä", "slice/b.html": "b", "index.html": "1"})
    (tmp_path / "report" / "notes.txt").write_text("mine")
    write(address, {"slice/b.html": "b", "query/c.html": "c", "index.html": "2"})
    assert held(tmp_path / "report") == {
        "slice/b.html": "b",
        "query/c.html": "c",
        "index.html": "2",
        "notes.txt": "mine",
    }


def test_a_page_that_stayed_the_same_is_not_written_again(tmp_path: Path) -> None:
    write_site(str(tmp_path), {"index.html": "1", "slice/a.html": "a"})
    before = (tmp_path / "slice" / "a.html").stat().st_ino
    write_site(str(tmp_path), {"index.html": "2", "slice/a.html": "a"})
    assert (tmp_path / "slice" / "a.html").stat().st_ino == before
    assert (tmp_path / "index.html").read_text() == "2"


def test_the_index_comes_last_so_that_its_links_lead_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr("panelake.report.site._write_page", lambda target, _: written.append(target.name))
    write_site(str(tmp_path), {"index.html": "1", "slice/a.html": "a", "query/z.html": "z"})
    assert written == ["z.html", "a.html", "index.html"]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("in the way")
    with pytest.raises(PartDownError, match=r"the report cannot be written to .*report: .*; make the folder writable"):
        write_site(str(tmp_path / "report"), {"index.html": "1"})
