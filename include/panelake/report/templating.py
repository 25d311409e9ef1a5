"""Templates of the report: everything put into them is escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from panelake.report import words
from panelake.report.assets import chart_script_path


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("panelake.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    readers = (words.instant, words.duration, words.number, words.seconds, words.share, words.clipped)
    environment.globals["chart_script_path"] = chart_script_path
    environment.filters.update({reader.__name__: reader for reader in readers})
    return environment


def render(template: str, **values: Any) -> Markup:
    """The template filled in; the result is safe to put into another."""
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704 - autoescaped above
