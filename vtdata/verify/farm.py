"""A file of cases over several processes, with the verdicts in the order of the file."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from vtdata.errors import ConfigError, RunError
from vtdata.verify.cases import KINDS, LATER, Case, Judged, count_cases, judge, read_cases

CHUNK = 64
"""Cases that go to a worker at once (ours)."""
MIN_CASES = 512
"""Fewer are judged in this process: starting others takes longer (ours)."""
_WINDOW = 4


class Farm:
    """The verdicts on a file's cases.

    Everything is checked when it is made: no work starts on a file with a malformed line. Each
    worker has a helper process of its own for what may have to be killed. Holds some chunks per
    worker in memory, never the file.

    Args:
        kind: ``math`` or ``choice``.
        path: a JSON Lines file; see ``vtdata.verify.cases``.
        workers: processes; None is the number of cores.
        limit_s: seconds for one question to the symbolic stage; None is its default.

    Raises:
        ConfigError: the kind, an option or a line is wrong.
    """

    def __init__(
        self, kind: str, path: Path, *, workers: int | None = None, limit_s: float | None = None
    ) -> None:
        if kind not in KINDS:
            follow = " and ".join(LATER)
            raise ConfigError(
                f"verify {kind}: choose {' or '.join(KINDS)}"
                + (f"; {follow} are not there yet" if kind in LATER else "")
            )
        if workers is not None and workers < 1:
            raise ConfigError(f"--workers must be at least 1, got {workers}")
        if limit_s is not None and not limit_s > 0:
            raise ConfigError(f"--limit-s must be more than 0, got {limit_s}")
        self._kind, self._path, self._limit_s = kind, path, limit_s
        self.total = count_cases(path)
        asked = workers or os.cpu_count() or 1
        chunks = -(-self.total // CHUNK)
        self.workers = min(asked, chunks) if self.total >= MIN_CASES else 1

    def __iter__(self) -> Iterator[Judged]:
        """Yield the verdicts in the order of the file.

        Raises:
            RunError: a worker was killed from outside.
        """
        cases = read_cases(self._path)
        if self.workers == 1:
            return (judge(self._kind, case, self._limit_s) for case in cases)
        return self._over_processes(cases)

    def _over_processes(self, cases: Iterator[Case]) -> Iterator[Judged]:
        pool = ProcessPoolExecutor(
            self.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_leave_interrupts_to_the_parent,
        )
        waiting: deque[Future[list[Judged]]] = deque()
        try:
            while chunk := list(itertools.islice(cases, CHUNK)):
                waiting.append(pool.submit(_judge_all, self._kind, chunk, self._limit_s))
                if len(waiting) >= _WINDOW * self.workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        except BrokenProcessPool as error:
            raise RunError(
                f"a worker of verify {self._kind} ended before its verdicts: it was killed, for "
                "memory say; use fewer --workers"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _judge_all(kind: str, cases: list[Case], limit_s: float | None) -> list[Judged]:
    return [judge(kind, case, limit_s) for case in cases]


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
