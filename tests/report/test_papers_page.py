from __future__ import annotations

import html
from pathlib import Path
from types import SimpleNamespace

import pytest

from panelake.experiments.catalog import FIGURES
from panelake.report import papers_page

PICTURE = b"\x89PNG and so on"
TEXT = """# Title

| figure |
|---|
| [one](#one) |

### one

![a & b](one.png)

- **Verdict:** <script>x</script>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.png").write_bytes(PICTURE)
    (tmp_path / "README.md").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_the_report_tells_every_figure_as_the_committed_page_does() -> None:
    folder = papers_page.papers()
    assert folder is not None
    page = str(papers_page.papers_page(SimpleNamespace(name="town"), folder))
    assert page.count("data:image/png;base64,") == len(FIGURES)
    for figure in FIGURES:
        assert f'<h3 id="{figure.name}">' in page
        assert html.escape(figure.claim, quote=False) in page


def test_pictures_are_put_into_the_page_and_headings_can_be_linked_to(folder: Path) -> None:
    page = str(papers_page.from_markdown(folder))
    assert '<img src="data:image/png;base64,iVBORyBhbmQgc28gb24=" alt="a &amp; b"' in page.replace(" />", "")
    assert '<a href="#one">one</a>' in page
    assert '<h3 id="one">one</h3>' in page
    assert "<table" in page


def test_the_title_is_left_to_the_page_and_html_is_text(folder: Path) -> None:
    page = str(papers_page.from_markdown(folder))
    assert "Title" not in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_without_a_checkout_there_is_no_such_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers_page, "checkout", lambda: None)
    assert papers_page.papers() is None
