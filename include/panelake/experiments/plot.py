"""Rows as a picture: one panel beside the other, means as lines or bars, the spread over the seeds as bars of error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from panelake.experiments.figure import Drawn, Panel
from panelake.experiments.table import Table, spread

# Okabe and Ito's colours, told apart whatever one's colour vision; markers tell contenders apart without any colour.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_WIDTH, _HEIGHT, _DPI = 4.6, 3.6, 90
_BAR_ROOM = 0.8
_LONG_LABELS = 24
_LEGEND_COLUMNS = 3
_TICKS = 6


def draw(figure: Drawn, table: Table, path: Path) -> None:
    """A PNG of all panels."""
    # Without a display and without pyplot's global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - takes a second --help need not pay
    from matplotlib.figure import Figure as Picture  # noqa: PLC0415 - the same

    picture = Picture(figsize=(_WIDTH * len(figure.panels), _HEIGHT), layout="constrained")
    FigureCanvasAgg(picture)
    names = list(dict.fromkeys(name for panel in figure.panels for name in table.contenders(panel.name)))
    for place, panel in enumerate(figure.panels, start=1):
        axes = picture.add_subplot(1, len(figure.panels), place)
        _draw_panel(axes, panel, table, names)
        if len(figure.panels) > 1:
            axes.set_title(panel.name, fontsize=9)
    drawn = [axes.get_legend_handles_labels() for axes in picture.axes]
    handles = {label: handle for pair in drawn for handle, label in zip(*pair, strict=True)}
    columns = _LEGEND_COLUMNS * len(figure.panels)
    picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=7)
    picture.suptitle(f"{figure.name}: {figure.title}", fontsize=10)
    picture.savefig(path, dpi=_DPI, metadata={"Software": None})


def _draw_panel(axes: Any, panel: Panel, table: Table, names: Sequence[str]) -> None:
    xs = table.xs(panel.name)
    if any(isinstance(x, str) for x in xs):
        _draw_bars(axes, panel, table, names)
    else:
        _draw_lines(axes, panel, table, names)
        if panel.logarithmic_x:
            axes.set_xscale("log")
        else:
            _number_ticks(axes.xaxis)
    axes.set_xlabel(panel.x, fontsize=8)
    axes.set_ylabel(panel.y, fontsize=8)
    axes.tick_params(which="both", labelsize=7)
    axes.grid(visible=True, axis="y", linewidth=0.4, alpha=0.6)
    if panel.logarithmic:
        axes.set_yscale("log")
    else:
        is_empty = not any(row.value for row in table.rows if row.panel == panel.name)
        axes.set_ylim(bottom=0, top=1 if is_empty else None)
        _number_ticks(axes.yaxis)


def _number_ticks(axis: Any) -> None:
    """Whole numbers as one writes them, 200,000 and not 0.2 with 1e6 beside the axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415 - as above

    axis.set_major_locator(MaxNLocator(_TICKS))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _draw_lines(axes: Any, panel: Panel, table: Table, names: Sequence[str]) -> None:
    for name in table.contenders(panel.name):
        xs = [x for x in table.xs(panel.name) if table.values(panel.name, x, name)]
        low, middle, high = zip(*(spread(table.values(panel.name, x, name)) for x in xs), strict=True)
        number = names.index(name)
        style = {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number % len(_MARKERS)]}
        axes.errorbar(xs, middle, _errors(low, middle, high), label=name, markersize=4, capsize=2, lw=1.2, **style)


def _draw_bars(axes: Any, panel: Panel, table: Table, names: Sequence[str]) -> None:
    xs, contenders = table.xs(panel.name), table.contenders(panel.name)
    width = _BAR_ROOM / len(contenders)
    for number, name in enumerate(contenders):
        at = [place for place, x in enumerate(xs) if table.values(panel.name, x, name)]
        low, middle, high = zip(*(spread(table.values(panel.name, xs[place], name)) for place in at), strict=True)
        left = [place + (number - (len(contenders) - 1) / 2) * width for place in at]
        colour = _COLOURS[names.index(name) % len(_COLOURS)]
        axes.bar(left, middle, width, yerr=_errors(low, middle, high), label=name, color=colour, capsize=2)
    slanted = sum(len(str(x)) for x in xs) > _LONG_LABELS
    axes.set_xticks(range(len(xs)), [str(x) for x in xs], rotation=20 if slanted else 0)


def _errors(low: Sequence[float], middle: Sequence[float], high: Sequence[float]) -> list[list[float]]:
    below = [m - least for least, m in zip(low, middle, strict=True)]
    above = [most - m for m, most in zip(middle, high, strict=True)]
    return [[max(0.0, error) for error in below], [max(0.0, error) for error in above]]
