"""The page of the five papers: in plain words, claim and measurement of every figure, as committed in docs/papers.

Made from the Markdown page there, which a test holds against the CSV files beside it. Pictures are put into the page.
"""

from __future__ import annotations

from base64 import b64encode
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from panelake.home import checkout
from panelake.report.templating import render
from panelake.workspace import Workspace

PAPERS_PAGE = "docs/papers.html"
_TOP = "h1"


def papers() -> Path | None:
    """The folder of the measured figures; None where the package is not in its checkout."""
    root = checkout()
    folder = root / "docs" / "papers" if root else None
    return folder if folder and (folder / "README.md").is_file() else None


def papers_page(workspace: Workspace, folder: Path) -> Markup:
    """The folder's page as one of the report's."""
    return render("papers.html", workspace=workspace, content=from_markdown(folder), root="../")


def from_markdown(folder: Path) -> Markup:
    """The folder's Markdown without its title; headings can be linked to, HTML in it is only text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse((folder / "README.md").read_text(encoding="utf-8"))
    tokens = _without_title(tokens)
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", content.content)
        if token.type == "table_open":
            token.attrSet("class", "stack")
    for picture in (child for token in tokens for child in token.children or () if child.type == "image"):
        picture.attrSet("src", _embedded(folder / str(picture.attrGet("src"))))
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # noqa: S704 - its HTML is escaped above


def _without_title(tokens: list[Token]) -> list[Token]:
    ends = [place for place, token in enumerate(tokens) if token.type == "heading_close" and token.tag == _TOP]
    return tokens[ends[0] + 1 :] if ends else tokens


def _embedded(picture: Path) -> str:
    return f"data:image/png;base64,{b64encode(picture.read_bytes()).decode()}"
