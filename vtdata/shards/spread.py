"""Spread: no two traces of one query stand side by side, where that can be avoided.

The rows come in shuffled order, once. A row whose query was just placed is held back until another
query's row has passed; what is still held at the end goes into gaps among the rows placed last.
Both queues are bounded, so a set of one query alone still comes through, side by side.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

MAX_HELD_ROWS = 256
MAX_HELD_BYTES = 4 * 2**20
"""Bounds of the queue of held rows and, doubled, of the window of rows placed last (ours)."""


@dataclass(slots=True)
class Item:
    """One row: whose it is, its bytes, and its place in the table that is being read."""

    query: str
    size: int
    index: int


class Spread:
    """Orders rows; the result depends on the sequence of ``push`` alone.

    >>> spread = Spread()
    >>> for index, query in enumerate("aabbc"):
    ...     spread.push(Item(query, 1, index))
    >>> "".join(item.query for item in spread.finish())
    'ababc'
    """

    def __init__(self, max_rows: int = MAX_HELD_ROWS, max_bytes: int = MAX_HELD_BYTES) -> None:
        self._max_rows, self._max_bytes = max_rows, max_bytes
        self._held: deque[Item] = deque()
        self._held_bytes = 0
        self._placed: deque[Item] = deque()
        self._placed_bytes = 0
        self._last: str | None = None
        self._before: str | None = None

    def push(self, item: Item) -> None:
        """Take the next row."""
        if item.query != self._last:
            self._place(item)
            self._release()
            return
        self._held.append(item)
        self._held_bytes += item.size
        if len(self._held) > self._max_rows or self._held_bytes > self._max_bytes:
            self._place(self._unhold(0))

    def _unhold(self, position: int) -> Item:
        item = self._held[position]
        del self._held[position]
        self._held_bytes -= item.size
        return item

    def _release(self) -> None:
        while True:
            found = (at for at, item in enumerate(self._held) if item.query != self._last)
            position = next(found, None)
            if position is None:
                return
            self._place(self._unhold(position))

    def _place(self, item: Item) -> None:
        self._placed.append(item)
        self._placed_bytes += item.size
        self._last = item.query

    def ready(self) -> Iterator[Item]:
        """Yield the rows whose place is final."""
        while len(self._placed) > 2 * self._max_rows or self._placed_bytes > 2 * self._max_bytes:
            item = self._placed.popleft()
            self._placed_bytes -= item.size
            self._before = item.query
            yield item

    def carry(self) -> list[int]:
        """Return the places of all rows that are not final and number them anew from 0."""
        waiting = [*self._placed, *self._held]
        places = [item.index for item in waiting]
        for index, item in enumerate(waiting):
            item.index = index
        return places

    def finish(self) -> list[Item]:
        """Return the rows that are left; the held ones, all of one query, go into gaps."""
        rows = list(self._placed)
        gap = len(rows)
        while self._held and gap >= 0:
            query = self._held[0].query
            left = rows[gap - 1].query if gap else self._before
            right = rows[gap].query if gap < len(rows) else None
            if query not in (left, right):
                rows.insert(gap, self._unhold(0))
            gap -= 1
        rows.extend(self._held)
        self._held.clear()
        self._placed.clear()
        return rows
