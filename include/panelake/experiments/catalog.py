"""All figures and tables of the five papers, and the papers in plain words."""

from __future__ import annotations

from panelake.experiments import filter_order, shared_panes, shedding
from panelake.experiments.figure import Figure

PAPERS = {
    shared_panes.PAPER: shared_panes.WORDS,
    shedding.PAPER: shedding.WORDS,
    filter_order.PAPER: filter_order.WORDS,
}
FIGURES: tuple[Figure, ...] = (*shared_panes.FIGURES, *shedding.FIGURES, *filter_order.FIGURES)
NAMES = tuple(figure.name for figure in FIGURES)
