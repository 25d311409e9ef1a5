"""All figures and tables of the five papers, and the papers in plain words."""

from __future__ import annotations

from panelake.experiments import filter_order, join_period, ring_join, shared_panes, shedding
from panelake.experiments.figure import Figure

_ROOMS = (shared_panes, shedding, ring_join, filter_order, join_period)
PAPERS = {room.PAPER: room.WORDS for room in _ROOMS}
FIGURES: tuple[Figure, ...] = tuple(figure for room in _ROOMS for figure in room.FIGURES)
