"""How many calls are in flight: as many as allowed, fewer while the server says it is too many."""

from __future__ import annotations

import asyncio
import time
from collections import deque

HALVE_EVERY_S = 1.0
"""All calls that are turned away within this time count as one sign (ours)."""


class Slots:
    """A limit that is halved on 429 and grows by one per round of successes (AIMD).

    Args:
        most: the limit while nothing is turned away.
        pace: scale of every wait.
    """

    def __init__(self, most: int, pace: float = 1.0) -> None:
        self.most = most
        self.limit = float(most)
        self.busy = 0
        self._pace = pace
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._halved = float("-inf")

    async def take(self, *, first: bool = False) -> None:
        """Wait for a slot; ``first`` goes before those who never had one."""
        if not self._waiting and self._free():
            self.busy += 1
            return
        turn = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if first else self._waiting.append)(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()  # it was handed over in the same moment
            raise

    def give(self) -> None:
        """Give a slot back."""
        self.busy -= 1
        self._hand_out()

    def turned_away(self, pause_s: float) -> None:
        """The server said 429: halve the limit, and send nothing for ``pause_s``."""
        now = time.monotonic()
        if now - self._halved >= HALVE_EVERY_S * self._pace:
            self._halved = now
            self.limit = max(1.0, self.limit / 2)
        if pause_s > 0:
            self._paused_until = max(self._paused_until, now + pause_s)
            asyncio.get_running_loop().call_later(pause_s + 0.001, self._hand_out)

    def served(self) -> None:
        """A call came through."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
            self._hand_out()

    def _free(self) -> bool:
        return self.busy < int(self.limit) and time.monotonic() >= self._paused_until

    def _hand_out(self) -> None:
        while self._waiting and self._free():
            turn = self._waiting.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)


def share_of(total: int, workers: int, worker: int) -> int:
    """A worker's share of the slots of a run, at least one.

    >>> [share_of(7, 3, worker) for worker in range(3)], share_of(1, 4, 3)
    ([3, 2, 2], 1)
    """
    return max(1, total // workers + (worker < total % workers))
