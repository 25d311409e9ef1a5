"""What a person sees: tables on stdout, progress on stderr and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def say(text: str = "") -> None:
    """One line on stdout."""
    print(text)  # noqa: T201 - the command's output


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """A table; numbers to the right, nothing interpreted as markup, no value ever cut off."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(columns, *cells, strict=True)]
    to_right = [_is_number(rows, index) for index in range(len(columns))]
    roomy = not sys.stdout.isatty() or sum(widths) + 2 * len(widths) - 2 <= get_terminal_size().columns
    gap = "  " if roomy else " "
    lines = [columns, ["─" * width for width in widths], *cells]
    if title:
        say(title)
    for line in lines:
        say(gap.join(_padded(*cell) for cell in zip(line, widths, to_right, strict=True)).rstrip())


def _is_number(rows: Sequence[Sequence[Any]], index: int) -> bool:
    return all(isinstance(row[index], int | float | None) for row in rows)


def _padded(text: str, width: int, to_right: bool) -> str:  # noqa: FBT001 - one of three cells of a zip
    room = " " * (width - cell_len(text))
    return room + text if to_right else text + room


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1 else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else plain(str(value))


def plain(text: str) -> str:
    """Text that cannot steer the terminal: what does not print is shown as its escape."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


@contextmanager
def progress_bar(total: int, *, quiet: bool = False) -> Iterator[Advance]:
    """A bar on stderr while work goes on; silent where nobody watches."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    shown = sys.stderr.isatty() and not quiet
    with Progress(*columns, console=Console(stderr=True), disable=not shown, transient=True) as progress:
        yield Advance(progress, total)


class Advance:
    """Moves the bar: `step` says what begins now and counts what came before."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=total)
        self._begun = 0

    def step(self, description: str) -> None:
        self._progress.update(self._task, description=description, completed=self._begun)
        self._begun += 1
