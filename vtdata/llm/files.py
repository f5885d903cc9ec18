"""The open files of a store, few at a time. Used by the store's own thread alone."""

from __future__ import annotations

import re
import shutil
import time
from collections import OrderedDict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from vtdata.errors import RunError
from vtdata.lease import in_use
from vtdata.llm.database import SUFFIX as SQLITE_SUFFIX
from vtdata.llm.database import Database
from vtdata.llm.row import Engine, Row
from vtdata.llm.segments import SUFFIX as SEGMENTS_SUFFIX
from vtdata.llm.segments import Segments

OPEN_FILES = 8
"""Ranges open at a time; a rank walks its buckets in order (ours)."""
SYNC_S = 1.0
"""Longest time that a committed answer can be lost to a power cut (ours)."""

_OURS = re.compile(r"\d\d\.(lease|index|log|sqlite)([.-].*)?|store\.json(\..*)?|\.probe-.*")


def remove_store(folder: Path) -> None:
    """Remove a store that nobody uses: its own files, and the folder if nothing else is in it."""
    for path in folder.iterdir():
        if not _OURS.fullmatch(path.name):
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


class Files:
    """Opens ranges when they are asked for and closes the longest unused.

    To make a file and to close one waits for the disk, tens of milliseconds each: another thread
    does it, and has the next range open before it is asked for.

    Args:
        folder: the store.
        engine: ``sqlite`` or ``segments``.
        ranges: those that may be opened.
        notes: sentences for people are added here.
        read_only: open for reading, and nothing that a living process writes.
    """

    def __init__(
        self, folder: Path, engine: str, ranges: range, notes: list[str], *, read_only: bool
    ) -> None:
        self._folder = folder
        self._ranges = ranges
        self._suffix = SQLITE_SUFFIX if engine == "sqlite" else SEGMENTS_SUFFIX
        self._read_only = read_only
        self._notes = notes
        self._open: OrderedDict[int, Engine] = OrderedDict()
        self._helper = ThreadPoolExecutor(1, "store-files")
        self._closing: dict[int, Future[None]] = {}
        self._opening: dict[int, Future[Engine]] = {}
        self._syncing: deque[Future[None]] = deque()
        self.dirty: set[int] = set()
        self._synced = time.monotonic()

    def path(self, number: int) -> Path:
        return self._folder / f"{number:02d}{self._suffix}"

    def existing(self, ranges: range) -> list[int]:
        return [number for number in ranges if self.path(number).exists()]

    def at(self, number: int) -> Engine:
        """The range's engine, opened if it isn't, with the longest unused closed."""
        engine = self._open.get(number)
        if engine is None:
            while len(self._open) >= OPEN_FILES:
                self._close_oldest()
            self._closed(number)
            ahead = self._opening.pop(number, None)
            engine = self._open[number] = ahead.result() if ahead else self._make(number)
            self._open_ahead(number + 1)
        self._open.move_to_end(number)
        return engine

    def get(self, number: int, keys: list[bytes]) -> list[Row]:
        if self._read_only and not self.path(number).exists():
            return []
        return self.at(number).get(keys)

    def put(self, number: int, rows: list[Row]) -> None:
        self._synced_well()
        self.at(number).put(rows)
        self.dirty.add(number)

    def sync_when_due(self) -> None:
        if self.dirty and time.monotonic() - self._synced >= SYNC_S:
            engines = [self._open[number] for number in self.dirty]
            self._syncing += [self._helper.submit(engine.sync) for engine in engines]
            self.dirty.clear()
            self._synced = time.monotonic()

    def close(self) -> None:
        """Close everything; raises what went wrong on the way."""
        while self._open:
            self._close_oldest()
        self._helper.shutdown()
        for ahead in self._opening.values():
            if ahead.exception() is None:  # else nobody needed it
                ahead.result().close()
        for number in list(self._closing):
            self._closed(number)
        self._synced_well()

    def _synced_well(self) -> None:
        """Raise what kept an earlier commit from the disk."""
        while self._syncing and self._syncing[0].done():
            if (error := self._syncing.popleft().exception()) is not None:
                raise RunError(
                    f"store {self._folder}: {error} while bringing commits to the disk; mend it "
                    "and run again"
                ) from error

    def _open_ahead(self, number: int) -> None:
        known = number in self._open or number in self._opening
        if not self._read_only and not known and number in self._ranges:
            self._opening[number] = self._helper.submit(self._make, number)

    def _close_oldest(self) -> None:
        number, engine = self._open.popitem(last=False)
        self.dirty.discard(number)
        self._closed(number)
        self._closing[number] = self._helper.submit(engine.close)

    def _closed(self, number: int) -> None:
        """Wait until a range that is being closed is closed."""
        if (closing := self._closing.pop(number, None)) is not None:
            closing.result()

    def _make(self, number: int) -> Engine:
        path = self.path(number)
        if self._read_only and (holder := in_use(path.with_suffix(".lease"))) is not None:
            raise RunError(
                f"store file {path} is in use by process {holder.get('pid', '?')} on "
                f"{holder.get('host', '?')}: wait until that run ends"
            )
        if self._suffix == SQLITE_SUFFIX:
            return Database(path, read_only=self._read_only)
        segments = Segments(path, read_only=self._read_only)
        if segments.cut:
            self._notes.append(f"store file {path}: cut off {segments.cut} bytes of a torn write")
        return segments
