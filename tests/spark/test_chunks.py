"""Chunks own each due window once, and hold every pane of the windows they own."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.kernels.window_spec import WindowSpec
from panelake.spark.chunks import Chunks, chunks_of

specs = st.lists(st.builds(WindowSpec, st.integers(1, 50), st.integers(1, 30), st.integers(0, 40)), min_size=1)


@settings(deadline=None, derandomize=True)
@given(windows=specs, first=st.integers(-30, 30), count=st.integers(1, 40), wanted=st.integers(1, 9))
def test_every_due_window_has_one_chunk_that_holds_its_panes(
    windows: list[WindowSpec], first: int, count: int, wanted: int
) -> None:
    due = range(first, first + count)
    low, high = min(w.start(due[0]) for w in windows), max(w.end(due[-1]) for w in windows)
    chunks = chunks_of(low, high, windows, wanted)
    assert chunks.count <= wanted
    for window in windows:
        owned = [k for chunk in range(chunks.count) for k in chunks.windows(chunk, window, due)]
        assert owned == list(due)
        for chunk in range(chunks.count):
            for k in chunks.windows(chunk, window, due):
                for position in (window.start(k), window.end(k) - 1):
                    assert chunk in held(chunks, position)


@given(windows=specs, wanted=st.integers(1, 9), number=st.integers(1, 20), position=st.integers(-2_000, 5_000))
def test_numbers_of_two_axes_never_meet(windows: list[WindowSpec], wanted: int, number: int, position: int) -> None:
    """A set of fragments is in chunks of time and of rows at once: a pane beyond either stays within its numbers."""
    chunks = replace(chunks_of(0, 1_000, windows, wanted), first=number)
    mine = range(number, number + chunks.count)
    assert set(held(chunks, position)) <= set(mine)
    due = range(-5, 50)
    assert [k for chunk in range(60) for k in chunks.windows(chunk, windows[0], due)] == [
        k for chunk in mine for k in chunks.windows(chunk, windows[0], due)
    ]


def held(chunks: Chunks, position: int) -> list[int]:
    """`Chunks.sql` in Python."""
    first = (position - chunks.low) // chunks.length
    last = (position - chunks.low + chunks.reach - 1) // chunks.length
    low, high = (min(max(chunk, 0), chunks.count - 1) for chunk in (first, last))
    return [chunks.first + chunk for chunk in range(low, max(low, high) + 1)]
