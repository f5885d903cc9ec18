"""Progress on long work: a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live as RichLive
from rich.text import Text

from vtdata.counted import LINE_EVERY_S
from vtdata.run.progress import read_progress
from vtdata.run.session import Hooks

if TYPE_CHECKING:
    from vtdata.recipe.plan import Block
    from vtdata.run.engine import Outcome


class Live:
    """Shows which block runs, how many queries passed, calls, tokens per second and time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._run: Path | None = None
        self._block = ""
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._live = RichLive(console=console, transient=True, auto_refresh=False)
        self._thread = threading.Thread(target=self._watch, name="vtdata-live", daemon=True)

    def __enter__(self) -> Live:
        if self._console.is_terminal:
            self._live.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._console.is_terminal:
            self._live.stop()

    def hooks(self) -> Hooks:
        """Return what the run should call."""
        return Hooks(say=self._say, began=self._begin, ended=self._end, folder=self._found)

    def _found(self, folder: Path) -> None:
        self._run = folder

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def _begin(self, block: Block) -> None:
        self._block, self._began = block.name, time.monotonic()

    def _end(self, outcome: Outcome) -> None:
        word = "nothing to do" if outcome.reused else f"{outcome.seconds:.1f} s"
        what = ", ".join(outcome.manifest.sets) or f"{outcome.manifest.rows:,} queries"
        self._say(f"{outcome.block.index:02d} {outcome.block.name}: {what}; {word}")
        self._block = ""

    def _watch(self) -> None:
        said = time.monotonic()
        while not self._ended.wait(0.5):
            if not self._block or self._run is None:
                continue
            line = progress_line(self._block, read_progress(self._run), self._began)
            if self._console.is_terminal:
                self._live.update(Text(line), refresh=True)
            elif time.monotonic() - said > LINE_EVERY_S:
                self._say(line)
                said = time.monotonic()


def progress_line(block: str, ranks: list[dict[str, Any]], began: float) -> str:
    """Return one line on how far a block is."""
    if not ranks:
        return f"{block}: starting; {time.monotonic() - began:.0f} s"
    out = sum(rank["out"] for rank in ranks)
    total = max((rank["total"] for rank in ranks), default=0)
    line = f"{block}: {out:,} of {total:,} queries" if total else f"{block}: {out:,} queries"
    if 0 < out < total:
        line += f", about {(total - out) * (time.monotonic() - began) / out:.0f} s to go"
    models = [model for rank in ranks for model in rank["models"].values()]
    if models:
        sent, cached = (sum(m.get(name) or 0 for m in models) for name in ("sent", "cached"))
        tokens = sum(m.get("completion_tokens") or 0 for m in models)
        passed = max(time.monotonic() - began, 1e-9)
        line += (
            f"; {sent:,} calls sent, {cached:,} from the store, "
            f"{tokens:,} tokens ({tokens / passed:,.0f}/s)"
        )
    return f"{line}; {time.monotonic() - began:.0f} s"
