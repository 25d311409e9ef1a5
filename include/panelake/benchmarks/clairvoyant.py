"""Shedding by someone who knows the future: what a policy could reach at best, or nearly.

Shed is first a tuple that can be in no further result, else the one whose last result is farthest away. With unique
keys that is the best there is; with repeating keys a good bound from below.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import prod

from panelake.worlds.join_orders import STREAMS, JoinOrder


@dataclass
class Window:
    """Tuples as (key, number): those still of use by how late their last result comes, and those of none."""

    size: int = 0
    useful: list[tuple[int, int, int]] = field(default_factory=list)
    useless: list[tuple[int, int]] = field(default_factory=list)


class Clairvoyant:
    """One pass over a known order with so many tuples a stream; no tuple expires."""

    def __init__(self, order: JoinOrder, memory: int) -> None:
        self.memory = memory
        self.windows = [Window() for _ in range(STREAMS)]
        self.held: dict[int, list[int]] = defaultdict(lambda: [0] * STREAMS)
        self.live: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.gone: set[int] = set()
        self.arrivals = list(zip(order.stream.tolist(), order.key.tolist(), strict=True))
        self.coming = Counter(self.arrivals)
        last: dict[int, list[int]] = defaultdict(lambda: [-1] * STREAMS)
        for number, (stream, key) in enumerate(self.arrivals):
            last[key][stream] = number
        self.last_elsewhere = {
            key: [max(times[:stream] + times[stream + 1 :]) for stream in range(STREAMS)] for key, times in last.items()
        }

    def results(self) -> int:
        return sum(self._arrive(number, stream, key) for number, (stream, key) in enumerate(self.arrivals))

    def _arrive(self, number: int, stream: int, key: int) -> int:
        self.coming[stream, key] -= 1
        if self.windows[stream].size == self.memory:
            self._shed(stream)
        self.windows[stream].size += 1
        self.held[key][stream] += 1
        self.live[key].append((stream, number))
        heapq.heappush(self.windows[stream].useful, (-self.last_elsewhere[key][stream], number, key))
        found = prod(count for other, count in enumerate(self.held[key]) if other != stream)
        self._retire(key, number)
        return found

    def _can_join(self, key: int) -> bool:
        """Whether every stream holds the key or will."""
        held = self.held[key]
        return all(held[stream] or self.coming[stream, key] for stream in range(STREAMS))

    def _retire(self, key: int, now: int) -> None:
        """Tuples of the key whose last result has come, or never will, are of no use from now on."""
        still = []
        can_join, last = self._can_join(key), self.last_elsewhere[key]
        for stream, number in self.live[key]:
            if can_join and last[stream] > now:
                still.append((stream, number))
            else:
                self.windows[stream].useless.append((number, key))
        self.live[key] = still

    def _shed(self, stream: int) -> None:
        window = self.windows[stream]
        key = self._pop(window)
        window.size -= 1
        self.held[key][stream] -= 1
        if not self.held[key][stream] and not self.coming[stream, key]:
            self._retire(key, len(self.arrivals))

    def _pop(self, window: Window) -> int:
        if window.useless:
            number, key = window.useless.pop()
        else:
            number, key = self._farthest(window)
        self.gone.add(number)
        return key

    def _farthest(self, window: Window) -> tuple[int, int]:
        while True:
            _, number, key = heapq.heappop(window.useful)
            mine = [one for one in self.live[key] if one[1] == number]
            if number not in self.gone and mine:
                self.live[key].remove(mine[0])
                return number, key
