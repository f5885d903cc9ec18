"""datatrove's local executor on a pool that notices when a worker dies.

datatrove 0.10 runs its local ranks in ``multiprocess.Pool``, which waits forever for the rank of a
worker that was killed (by the kernel for memory, say). ``ProcessPoolExecutor`` says so at once.
The pool lives as long as the run, so that a recipe of twenty segments starts its workers once.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from types import FrameType

from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep

from vtdata.errors import RunError, Stopped

_PR_SET_PDEATHSIG = 1


class Pool:
    """The worker processes of a run; one worker runs in this process."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, function: Callable[..., object], *args: object) -> Future[object]:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(
                self.workers,
                mp_context=context,
                initializer=_start_worker,
                initargs=(os.getpid(), context.Value("i", 0)),
            )
        return self._pool.submit(function, *args)


_worker = 0


def worker_index() -> int:
    """Which of the run's workers this process is, from 0; the coordinator is 0 when it works."""
    return _worker


def _start_worker(parent: int, started: Synchronized[int]) -> None:
    """Die with the parent, and leave signals to it: it asks for a clean stop through the ledger."""
    global _worker
    with started.get_lock():
        _worker = started.value
        started.value += 1
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    sys.stdout = sys.stderr  # stdout is data, and what a step prints is none
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave_if_orphaned)


def _leave_if_orphaned(_signal: int, _frame: FrameType | None) -> None:
    """A signal to the whole group reaches the parent too, which ends us when all is written."""
    if os.getppid() == 1:
        os._exit(1)


class LocalExecutor(LocalPipelineExecutor):
    """Runs every rank of a pipeline on this machine.

    Raises:
        RunError: a worker died, or the first error of a rank after the others ended.
    """

    def __init__(
        self,
        step: PipelineStep,
        *,
        tasks: int,
        pool: Pool,
        logs: Path,
        stop: Callable[[str], None],
    ) -> None:
        self._step = step
        super().__init__(
            [step],
            tasks=tasks,
            workers=min(pool.workers, tasks),
            logging_dir=str(logs),
            skip_completed=False,
        )
        self._pool, self._stop = pool, stop

    def run(self) -> None:
        """Run all ranks; a failing rank asks the others to stop."""
        if self.workers == 1:
            for rank in range(self.tasks):
                _run_rank(self._step, self.tasks, str(self.logging_dir.path), rank)
            return
        logs = str(self.logging_dir.path)
        futures = [
            self._pool.submit(_run_rank, self._step, self.tasks, logs, rank)
            for rank in range(self.tasks)
        ]
        done, pending = wait(futures, return_when=FIRST_EXCEPTION)
        failed = [error for future in done if (error := future.exception())]
        if pending or any(isinstance(error, BrokenProcessPool) for error in failed):
            # A broken pool gives up all futures at once, while its other workers go on.
            stopped = [str(error) for error in failed if isinstance(error, Stopped)]
            self._stop(stopped[0] if stopped else "another rank failed")
            for future in pending:
                future.cancel()
            wait(pending)
        errors = [f.exception() for f in (*done, *pending) if not f.cancelled() and f.exception()]
        if not errors:
            return
        first = next((e for e in errors if not isinstance(e, Stopped)), errors[0])
        if isinstance(first, BrokenProcessPool):
            raise RunError(
                "a worker process died (killed from outside, or by the kernel for want of memory: "
                "see dmesg); run again to go on, with fewer --workers if memory was short"
            ) from None
        assert first is not None
        raise first


def _run_rank(step: PipelineStep, tasks: int, logs: str, rank: int) -> None:
    """Run one rank as datatrove does, but for its logger.

    That one writes the value of every variable beside a traceback, and so may write secrets.
    """
    try:
        deque(step.run(None, rank, tasks), maxlen=0)  # ty: ignore[invalid-argument-type] - ours neither reads nor yields Documents
    except SystemExit as error:  # with code 0 an unfinished run would look like a finished one
        raise RunError(
            f"a step called sys.exit({error.code!r}): mend it; a step may only raise errors"
        ) from error
    except Exception:
        with suppress(OSError):  # a full disk has a better sentence than this one would be
            Path(logs).mkdir(parents=True, exist_ok=True)
            (Path(logs) / f"rank-{rank:05d}.log").write_text(traceback.format_exc())
        raise
