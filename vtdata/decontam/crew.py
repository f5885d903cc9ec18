"""Who scans units: this process, threads of it, or processes beside it where that pays.

The kernel leaves the interpreter to others while it works, alignment doesn't. So a large scan
with alignment gets processes, which need some seconds to begin, and any other gets threads. This
process scans from the first moment in either case.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.digests import Stamp, changed, stamp
from vtdata.decontam.engine import Index, Indexes, Profile
from vtdata.decontam.kernel import prepare
from vtdata.decontam.store import write_unit
from vtdata.decontam.sweep import Job, Stop, sweep
from vtdata.errors import RunError

PAYS_BYTES = 96 * 2**20
"""Text from which on processes are started for a scan (ours): about two seconds of work for each
of two at 25 MB/s."""
LOOK_S = 0.25
"""How often progress of other processes is looked at (ours)."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Task:
    """A unit to be scanned and kept."""

    job: Job
    folder: Path
    """Of the shelf."""
    profile: str
    """Its hash."""
    names: Mapping[str, str]
    """Of the benchmarks, by key."""
    stamp: Stamp | None
    """Of the file when it was hashed."""


Given = tuple[Task, Callable[[Path], None]]
"""A task, and what is called with the file that was written for it."""


@dataclass(slots=True)
class Pace:
    """How far a scan is; ``said`` is called from the main thread with bytes done and in all."""

    total: int
    said: Callable[[int, int], None]
    here: int = 0
    elsewhere: Any = None
    """A counter that processes share; None where there are none."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tick(self, num_bytes: int) -> None:
        """Take note of bytes that were scanned in this process."""
        with self._lock:
            self.here += num_bytes

    @property
    def done(self) -> int:
        return self.here + (self.elsewhere.value if self.elsewhere is not None else 0)

    def say(self) -> None:
        """Tell the front end."""
        self.said(min(self.done, self.total), self.total)


def share(
    tasks: Sequence[Given],
    indexes: Indexes,
    benchmarks: Sequence[Benchmark],
    profile: Profile,
    *,
    workers: int,
    size: int,
    pace: Pace,
) -> None:
    """Have all tasks done; the first that fails ends the others at their next batch.

    Args:
        tasks: each with what is called, in the main thread, with the file that was written.
        indexes: makes the index; each process makes its own.
        benchmarks: of the index.
        profile: of the index.
        workers: threads or processes, this one included.
        size: bytes of text in all tasks.
        pace: of the whole scan.

    Raises:
        RunError: a file is corrupt or changes, or a process was killed from outside.
    """
    beside = min(workers, len(tasks)) - 1
    prepare(size)
    if beside > 0 and size >= PAYS_BYTES and profile.aligns:
        _with_processes(tasks, indexes, benchmarks, profile, beside, pace)
        return
    stop = threading.Event()
    index = indexes(benchmarks, profile)
    with ThreadPoolExecutor(beside + 1, "vtdata-scan") as pool:

        def own(task: Task) -> Future[Path]:
            return pool.submit(_do, task, index, stop, pace.tick)

        try:
            _deal(tasks, [own] * (beside + 1), pace)
        finally:
            stop.set()


def _with_processes(
    tasks: Sequence[Given],
    indexes: Indexes,
    benchmarks: Sequence[Benchmark],
    profile: Profile,
    beside: int,
    pace: Pace,
) -> None:
    context = multiprocessing.get_context("spawn")
    stop, pace.elsewhere = context.Event(), context.Value("q", 0)
    known = (os.getpid(), indexes.build, tuple(benchmarks), profile, stop, pace.elsewhere)
    with (
        ProcessPoolExecutor(beside, context, initializer=_begin, initargs=known) as others,
        ThreadPoolExecutor(1, "vtdata-scan") as here,
    ):
        try:
            for _ in range(beside):
                others.submit(os.getpid)  # so that they begin while the index is built here
            index = indexes(benchmarks, profile)

            def own(task: Task) -> Future[Path]:
                return here.submit(_do, task, index, stop, pace.tick)

            _deal(tasks, [own, *[partial(others.submit, _do_there)] * beside], pace)
        except BrokenProcessPool as error:
            raise RunError(
                "a process that scans was killed from outside, perhaps for memory: run again to go "
                "on, with fewer --workers"
            ) from error
        finally:
            stop.set()
    pace.here += pace.elsewhere.value
    pace.elsewhere = None


def _deal(
    tasks: Sequence[Given], slots: Sequence[Callable[[Task], Future[Path]]], pace: Pace
) -> None:
    """Give each free slot the next task."""
    left = deque(tasks)
    free = deque(slots)
    running: dict[Future[Path], tuple[Callable[[Task], Future[Path]], Callable[[Path], None]]] = {}
    while left or running:
        while left and free:
            (task, kept), slot = left.popleft(), free.popleft()
            running[slot(task)] = (slot, kept)
        done, _ = wait(running, timeout=LOOK_S, return_when=FIRST_COMPLETED)
        for future in done:
            slot, kept = running.pop(future)
            kept(future.result())
            free.append(slot)
        pace.say()


def _do(task: Task, index: Index, stop: Stop, tick: Callable[[int], None]) -> Path:
    found = sweep(task.job, index, stop, tick)
    path = task.job.shard.path
    if path is not None and stamp(path) != task.stamp:
        raise changed(task.job.shard)
    return write_unit(task.folder, task.profile, task.job.unit.number, task.names, found)


@dataclass(slots=True)
class _There:
    """What a process that scans knows."""

    build: Callable[..., Index]
    benchmarks: tuple[Benchmark, ...]
    profile: Profile
    stop: Stop
    counter: Any
    index: Index | None = None

    def tick(self, num_bytes: int) -> None:
        with self.counter.get_lock():
            self.counter.value += num_bytes


_there: _There | None = None


def _begin(parent: int, *known: Any) -> None:
    """Die with the parent, and leave signals to it."""
    global _there
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _there = _There(*known)


def _do_there(task: Task) -> Path:
    assert _there is not None
    if _there.index is None:
        prepare(PAYS_BYTES)
        _there.index = _there.build(_there.benchmarks, _there.profile)
    return _do(task, _there.index, _there.stop, _there.tick)
