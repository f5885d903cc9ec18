"""Progress on work of a known length that is no run."""

from __future__ import annotations

import time

from rich.console import Console
from rich.live import Live as RichLive
from rich.text import Text

LINE_EVERY_S = 15.0
GUESS_AFTER_S = 5.0
"""No guess of what is left before: the start of processes and caches is in the pace (ours)."""


class Counted:
    """Shows how many of a known number are done: one line in a terminal, some lines elsewhere."""

    def __init__(self, console: Console, what: str, unit: str = "") -> None:
        self._console, self._what = console, what
        self._unit = f" {unit}" if unit else ""
        self._began = self._shown = time.monotonic()
        self._live = RichLive(console=console, transient=True, auto_refresh=False)

    def __enter__(self) -> Counted:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def said(self, done: int, total: int) -> None:
        """Take note of how many are done."""
        now = time.monotonic()
        if now - self._shown < (0.5 if self._console.is_terminal else LINE_EVERY_S):
            return
        self._shown, passed = now, now - self._began
        unit = self._unit
        line = f"{self._what}: {done:,} of {total:,}{unit}, {done / passed:,.0f}{unit}/s"
        if passed >= GUESS_AFTER_S and 0 < done < total:
            line += f", about {(total - done) * passed / done:.0f} s to go"
        if self._console.is_terminal:
            self._live.update(Text(line), refresh=True)
        else:
            self._console.print(line, soft_wrap=True)
