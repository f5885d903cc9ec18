"""Processes that judge chunks of cases for this one, and end with it however it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from vtdata.errors import RunError, VtdataError

if TYPE_CHECKING:
    from vtdata.verify.farm import Done, Task
    from vtdata.verify.rows import Line

_PROGRAM = Path(__file__).with_name("worker.py")
_AHEAD = 32
"""Chunks per worker that may be done before one that is slow (ours)."""


@dataclass(slots=True, eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.wait()


class Crew:
    """Workers for one file.

    A worker has one chunk at a time: with a second on its way, both sides could wait for the other
    to read. Each is a program of its own, so that nothing of a caller's main module is run again.
    """

    def __init__(self, task: Task, workers: int) -> None:
        self._task, self._num = task, workers

    def over(self, chunks: Iterator[list[Line]]) -> Generator[Done]:
        """Yield what is done with each chunk, in their order; afterwards no worker is left.

        Raises:
            VtdataError: what a worker raised.
            RunError: a worker ended before its verdicts.
        """
        with ExitStack() as stack:
            idle = [self._start(stack) for _ in range(self._num)]
            busy: dict[Connection, tuple[int, _Worker]] = {}
            done: dict[int, Done] = {}
            given = given_out = 0
            chunk = next(chunks, None)
            while chunk or busy or done:
                while chunk and idle and given - given_out < _AHEAD * self._num:
                    worker = idle.pop()
                    self._give(worker, chunk)
                    busy[worker.connection] = (given, worker)
                    given, chunk = given + 1, next(chunks, None)
                for connection in wait(list(busy), 0 if given_out in done else None):
                    assert isinstance(connection, Connection)
                    number, worker = busy.pop(connection)
                    done[number] = self._answer(connection)
                    idle.append(worker)
                if given_out in done:
                    yield done.pop(given_out)
                    given_out += 1

    def _start(self, stack: ExitStack) -> _Worker:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            path = [entry or os.getcwd() for entry in sys.path if isinstance(entry, str)]  # noqa: PTH109
            arguments = [str(theirs.fileno()), str(os.getpid()), json.dumps(path)]
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:  # a worker and its helpers inherit the mask: Ctrl-C is for this process to answer
                process = subprocess.Popen(
                    [sys.executable, "-P", str(_PROGRAM), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
                worker = _Worker(process, Connection(ours.detach()))
                stack.callback(worker.end)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            worker.connection.send(self._task)
            return worker

    def _give(self, worker: _Worker, chunk: list[Line]) -> None:
        try:
            worker.connection.send(chunk)
        except OSError as error:
            raise self._lost() from error

    def _answer(self, connection: Connection) -> Done:
        try:
            answer = connection.recv()
        except (EOFError, OSError) as error:
            raise self._lost() from error
        if isinstance(answer, VtdataError):
            raise answer
        return answer

    def _lost(self) -> RunError:
        return RunError(
            f"a worker of verify {self._task.kind} ended before its verdicts: it was killed, for "
            "memory say; use fewer --workers"
        )
