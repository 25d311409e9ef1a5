"""The page of filters: each stream's and query's, in the order in force, and how the order came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from panelake.filters.explained import FilterChain, cost_text
from panelake.report.charts import Axes, Series, line_chart
from panelake.report.templating import render
from panelake.workspace import Workspace

FILTERS_PAGE = "filters.html"
MOST_SLICES = 100
_LABEL = 60


@dataclass(frozen=True)
class ShownChain:
    """A chain's document and its plot."""

    document: dict[str, Any]
    chart: Markup | None


def filter_page(workspace: Workspace, chains: Sequence[FilterChain]) -> Markup:
    """All chains; those that may change their order with its history."""
    shown = [ShownChain(chain.document(), order_chart(chain)) for chain in chains]
    return render(FILTERS_PAGE, workspace=workspace, chains=shown, cost=cost_text, root="")


def order_chart(chain: FilterChain) -> Markup | None:
    """The place of each filter, slice by slice; None where the order never could change."""
    newest = sorted(chain.learned, key=lambda known: known.slice)[-MOST_SLICES:]
    series = [
        Series(_label(text), [known.used.index(number) + 1 for known in newest])
        for number, text in enumerate(chain.texts)
    ]
    places = [known.slice.start for known in newest]
    return line_chart("Place in the order, slice by slice", places, series, Axes("rank"))


def _label(text: str) -> str:
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 1]}…"
