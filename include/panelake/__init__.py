"""Panelake: exact sliding-window answers over streams, from one shared set of panes."""

__version__ = "0.1.0"
