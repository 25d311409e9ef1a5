"""Data Docs of one slice: its validations as Great Expectations itself renders them, on a page of the report.

Its own pages load styles and scripts over the network, and put what the data holds into them as it is. So its sections
are taken, cleaned of everything but text and tables, and set into the report's page.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import nh3
from markupsafe import Markup

from panelake.context import Context
from panelake.report.site import DATA_DOCS, write_page
from panelake.report.templating import render
from panelake.slices import Slice

_TEXT = {"b", "br", "code", "div", "em", "i", "p", "pre", "span", "strong"}
_TAGS = _TEXT | {"h5", "h6", "li", "ol", "table", "tbody", "td", "th", "thead", "tr", "ul"}
# Its verdicts are icons of a font from the network; the colour's name tells which.
_ICON = re.compile(r'<i class="[^"]*text-(success|danger|warning)[^"]*"[^>]*>')
_SAID = {"success": "✓ passed", "danger": "✗ failed", "warning": "! raised"}


class DataDocs:
    """Gathers what was validated of a slice, then writes its page."""

    def __init__(self) -> None:
        self._sections: list[tuple[str, Markup]] = []

    def add(self, title: str, result: Any) -> None:
        """Take a validation result of Great Expectations."""
        self._sections.append((title, rendered(result)))

    def write(self, context: Context, part: Slice) -> None:
        """Write the page of the slice."""
        html = render("data_docs.html", workspace=context.workspace, part=part, sections=self._sections, root="../")
        write_page(context.catalog.report, docs_of(part), str(html))


def docs_of(part: Slice) -> str:
    """The path of the slice's page below the report."""
    return f"{DATA_DOCS}/{part.folder}.html"


def rendered(result: Any) -> Markup:
    """The result as Great Expectations shows it, without what could run, load or lead anywhere."""
    from great_expectations.render.renderer import ValidationResultsPageRenderer  # noqa: PLC0415 - takes seconds

    page, view = ValidationResultsPageRenderer().render(result), _view()
    sections = [
        view.render({"section": section, "section_loop": {"index": place}})
        for place, section in enumerate(page.to_json_dict()["sections"], start=1)
    ]
    return Markup(nh3.clean(_ICON.sub(_word, "".join(sections)), tags=_TAGS, attributes={}))  # noqa: S704 - cleaned just here


@cache
def _view() -> Any:
    """One for all slices of a process: each new one compiles its templates anew."""
    from great_expectations.render.view import DefaultJinjaSectionView  # noqa: PLC0415 - takes seconds

    return DefaultJinjaSectionView()


def _word(icon: re.Match[str]) -> str:
    return f"<i>{_SAID[icon[1]]}"
