"""The generation store: every answer that was ever bought, by the key of its request.

One file per range of buckets, owned by one rank. An answer is committed before anybody counts it;
whatever arrives while a commit is running goes into the next one. All file work is done by one
thread, so the event loop only hands over and is told.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from vtdata.errors import RunError, VtdataError
from vtdata.lease import Lease
from vtdata.llm.files import SYNC_S, Files
from vtdata.llm.probe import engine_of, read_note
from vtdata.llm.row import pack, unpack
from vtdata.seeds import NUM_RANGES, range_of

NEW_KEYS = 4096
"""Keys that are remembered of a range that began empty; 64 ranges take 25 MB at most (ours)."""
BATCH = 512
"""Most jobs that share a commit (ours)."""


@dataclass(slots=True)
class _Job:
    """A get or a put on its way to the thread and back."""

    range: int
    keys: list[bytes]
    payload: bytes | None
    """What to put; None for a get."""
    final: bool
    """Of a get: whether to leave out what isn't final."""
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    told: bool = False


class Store:
    """The ranges of a store that one rank owns; made by ``open_store``."""

    def __init__(self, folder: Path, ranges: range, engine: str, *, read_only: bool) -> None:
        self.folder = folder
        self.ranges = ranges
        self.engine = engine
        self.read_only = read_only
        self.notes: list[str] = []
        """What a person should be told: the engine taken, a lease taken over, a torn tail."""
        self._files = Files(folder, engine, ranges, self.notes, read_only=read_only)
        self._queue: SimpleQueue[list[_Job] | Callable[[], None] | None] = SimpleQueue()
        self._handing: list[_Job] = []
        there = self._files.existing(ranges)
        self._new: dict[int, set[bytes]] = {n: set() for n in ranges if n not in there}
        """Ranges that began empty, with what was put since: nobody else need be asked."""
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._closed = False
        self._thread.start()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.count()

    async def get(
        self, bucket: int, keys: Iterable[str], *, failed: bool = False
    ) -> dict[str, bytes]:
        """The answers that are there; with ``failed`` also those that the next run asks again."""
        raw = [bytes.fromhex(key) for key in keys]
        new = self._new.get(self._range(bucket))
        if new is not None and new.isdisjoint(raw):
            return {}
        return await self._ask(bucket, raw, None, final=not failed)

    async def put(self, bucket: int, key: str, payload: bytes, *, final: bool = True) -> None:
        """Store an answer; returns when it is committed. A final answer is never replaced."""
        if self.read_only:
            raise RunError(f"store {self.folder} is open for reading only: nothing can be put")
        raw, number = bytes.fromhex(key), self._range(bucket)
        if (new := self._new.get(number)) is not None:
            new.add(raw)
            if len(new) > NEW_KEYS:
                del self._new[number]
        await self._ask(bucket, [raw], payload, final=final)

    def peek(self, bucket: int, keys: Iterable[str]) -> set[str]:
        """Which of the keys have a final answer."""
        raw = [bytes.fromhex(key) for key in keys]
        number = self._range(bucket)
        rows = self._call(lambda: self._files.get(number, raw))
        return {row.key.hex() for row in rows if row.final}

    def count(self) -> int:
        """Number of final answers in the ranges that this store owns."""
        return self._call(
            lambda: sum(self._files.at(n).count() for n in self._files.existing(self.ranges))
        )

    def some(self, limit: int) -> list[bytes]:
        """Up to ``limit`` final answers, taken from all ranges alike: enough for a mean."""
        return self._call(lambda: list(self._some(limit)))

    def close(self) -> None:
        """Finish what was handed in, close the files and give the ranges back."""
        if not self._closed:
            self._closed = True
            self._queue.put(self._handing)
            self._queue.put(None)
            self._thread.join()

    def _some(self, limit: int) -> Iterator[bytes]:
        there = self._files.existing(self.ranges)
        for number in there:
            engine = self._files.at(number)
            for row in engine.some(-(-limit // len(there))):
                yield unpack(row, engine.path)

    def _range(self, bucket: int) -> int:
        number = range_of(bucket)
        if number not in self.ranges or self._closed:
            state = "is closed" if self._closed else f"owns {self.ranges}"
            raise RunError(
                f"store {self.folder} {state}: bucket {bucket} of range {number} can't be asked"
            )
        return number

    async def _ask(self, bucket: int, keys: list[bytes], payload: bytes | None, *, final: bool):  # noqa: ANN202
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not self._handing:
            loop.call_soon(self._hand_over)  # once for all that is asked in this turn of the loop
        self._handing.append(_Job(self._range(bucket), keys, payload, final, future))
        return await future

    def _hand_over(self) -> None:
        jobs, self._handing = self._handing, []
        self._queue.put(jobs)

    def _call(self, work: Callable[[], Any]) -> Any:
        """Run ``work`` on the store's thread and wait for it."""
        done, box = threading.Event(), []

        def run() -> None:
            try:
                box.append((work(), None))
            except VtdataError as error:
                box.append((None, error))
            finally:
                done.set()

        if self._closed:
            raise RunError(f"store {self.folder} is closed")
        self._queue.put(run)
        done.wait()
        result, error = box[0]
        if error:
            raise error
        return result

    def _work(self) -> None:
        taken: list[Any] = []
        try:
            while None not in taken:
                taken = self._next()
                self._serve([job for jobs in taken if isinstance(jobs, list) for job in jobs])
                for call in filter(callable, taken):
                    call()
                self._files.sync_when_due()
        finally:
            self._closed = True  # whatever ended it, nobody may wait for an answer
            self._refuse([*taken, *self._waiting()])
            self._files.close()

    def _next(self) -> list[Any]:
        """Wait for something to do, then take whatever else has arrived."""
        try:
            taken = [self._queue.get(timeout=SYNC_S if self._files.dirty else None)]
        except Empty:  # time to bring the last commits to the disk
            return []
        return taken + self._waiting(BATCH - 1)

    def _waiting(self, limit: int | None = None) -> list[Any]:
        taken: list[Any] = []
        while not self._queue.empty() and (limit is None or len(taken) < limit):
            taken.append(self._queue.get())
        return taken

    def _refuse(self, taken: list[Any]) -> None:
        jobs = [job for jobs in taken if isinstance(jobs, list) for job in jobs]
        left = [job for job in jobs if not job.told]
        for job in left:
            job.error = RunError(f"store {self.folder} is closed")
        if left:
            _tell(left)

    def _serve(self, jobs: list[_Job]) -> None:
        """Puts first, one commit per range, then gets; then tell the event loop once."""
        by_range = attrgetter("range")
        for number, group in groupby(sorted(jobs, key=by_range), key=by_range):
            batch = list(group)
            puts = [job for job in batch if job.payload is not None]
            self._guard(puts, lambda n=number, p=puts: self._put(n, p))
            gets = [job for job in batch if job.payload is None]
            self._guard(gets, lambda n=number, g=gets: self._get(n, g))
        if jobs:
            _tell(jobs)

    def _put(self, number: int, jobs: list[_Job]) -> None:
        rows = [pack(job.keys[0], job.payload or b"", final=job.final) for job in jobs]
        self._files.put(number, rows)

    def _get(self, number: int, jobs: list[_Job]) -> None:
        rows = self._files.get(number, [key for job in jobs for key in job.keys])
        found = {row.key: row for row in rows}
        path = self._files.path(number)
        for job in jobs:
            rows = [row for key in job.keys if (row := found.get(key)) is not None]
            kept = [row for row in rows if row.final or not job.final]
            job.result = {row.key.hex(): unpack(row, path) for row in kept}

    @staticmethod
    def _guard(jobs: list[_Job], work: Callable[[], None]) -> None:
        """An error goes to those who asked, and the thread goes on."""
        if not jobs:
            return
        try:
            work()
        except (VtdataError, OSError) as error:
            for job in jobs:
                job.error = error


def _tell(jobs: list[_Job]) -> None:
    """Resolve the futures, in their own loop."""

    def resolve() -> None:
        for job in jobs:
            if job.future.done():
                continue
            if job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.result)

    for job in jobs:
        job.told = True
    loop = jobs[0].future.get_loop()
    if not loop.is_closed():
        loop.call_soon_threadsafe(resolve)


@contextmanager
def open_store(
    folder: Path, ranges: range, *, read_only: bool = False, engine: str | None = None
) -> Generator[Store]:
    """Open the ranges of a store for one rank, from ``with`` to its end.

    Reads and writes the ranges' files in ``folder``, which is made where it isn't there. A
    read-only store takes no lease and makes nothing.

    Args:
        folder: on POSIX storage; shared by the runs of a family.
        ranges: from ``seeds.ranges_of(rank, world)``.
        read_only: for dry runs and replays.
        engine: ``sqlite`` or ``segments``; None tries SQLite on the folder's file system.

    Raises:
        RunError: somebody else uses a range, or a file is damaged.
    """
    if not set(ranges) <= set(range(NUM_RANGES)):
        raise RunError(f"a store has the ranges 0 to {NUM_RANGES - 1}, asked for {ranges}")
    with ExitStack() as stack:
        if read_only:
            note = read_note(folder) or {"engine": engine or "sqlite"}
            yield stack.enter_context(Store(folder, ranges, note["engine"], read_only=True))
            return
        folder.mkdir(parents=True, exist_ok=True)
        found, said = engine_of(folder, engine)
        leases = [
            stack.enter_context(Lease(folder / f"{n:02d}.lease", f"store range {n:02d} of"))
            for n in ranges
        ]
        store = stack.enter_context(Store(folder, ranges, found, read_only=False))
        store.notes += [s for s in (said, *(lease.taken_over for lease in leases)) if s]
        yield store
