"""How far a run is: every rank writes a small file, the coordinator reads them."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from vtdata.records import Query
from vtdata.run.flow import Station

EVERY_S = 0.5


def progress_folder(run: Path) -> Path:
    """Where the ranks say how far they are."""
    return run / "logs" / "progress"


class Progress:
    """Writes a rank's counters every half second, from a thread of its own."""

    def __init__(
        self,
        run: Path,
        rank: int,
        stations: list[Station],
        stats: Callable[[], dict[str, Any]] | None,
        total: int,
    ) -> None:
        folder = progress_folder(run)
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{rank:05d}.json"
        self._stations, self._stats, self._total = stations, stats, total
        self._out = 0
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vtdata-progress", daemon=True)

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def watch(self, stream: Iterable[Query]) -> Iterator[Query]:
        for query in stream:
            self._out += 1
            yield query

    def _run(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._write()

    def _write(self) -> None:
        first = self._stations[0].books if self._stations else None
        data = {
            "pid": os.getpid(),
            "in": max(first.entered, first.created) if first else self._out,
            "out": self._out,
            "total": self._total,
            "seconds": round(time.monotonic() - self._started, 1),
            "models": self._stats() if self._stats else {},
        }
        temporary = self._path.with_suffix(".tmp")
        with suppress(OSError):  # a full disk stops the run elsewhere, with a better sentence
            temporary.write_text(json.dumps(data))
            temporary.rename(self._path)


def read_progress(run: Path) -> list[dict[str, Any]]:
    """Return what the ranks wrote last."""
    found = []
    for path in sorted(progress_folder(run).glob("*.json")):
        with suppress(ValueError, OSError):  # being replaced right now
            found.append(json.loads(path.read_text()))
    return found
