"""The host's connection to its helper, and to the children that the helper forked for it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtdata.errors import InfraError
from vtdata.verify.guard.jobs import JOBS
from vtdata.verify.guard.wire import READ_BYTES, Inbox, pack

_SILENCE_S = 120.0
"""How long a helper may take to answer: it may have to import a job's libraries first."""
_PROGRAM = Path(__file__).with_name("helper.py")
_ENVIRONMENT = (
    "PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "PYTHONHOME",
)  # fmt: skip
"""What a helper gets of the host's environment: no keys, for what runs on a model's text."""
_REPEATABLE = {
    "PYTHONHASHSEED": "0",  # sympy orders sets by hash, so a verdict could differ between runs
    "OMP_NUM_THREADS": "1",  # a process that forks has one thread
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class HelperLost(Exception):
    """The helper ended, or no longer answers."""


@dataclass(slots=True, eq=False)
class Child:
    """A process that does jobs, one at a time."""

    pid: int
    sock: socket.socket
    inbox: Inbox
    jobs: frozenset[str]


class Link:
    """A running helper and its idle children.

    Raises:
        InfraError: the helper can't be started.
    """

    def __init__(self) -> None:
        self.idle: list[Child] = []
        self._socks: set[socket.socket] = set()
        self._sock, theirs = socket.socketpair()
        with theirs:
            self._process = _start(theirs.fileno())
        self._inbox = Inbox(self._sock)
        self._sock.settimeout(_SILENCE_S)
        started = False
        try:
            self._inbox.receive()
            started = True
        except (EOFError, OSError) as error:
            raise InfraError(
                f"the guard's helper did not start ({error}); stderr says why, or run "
                f"{sys.executable} -P -s {_PROGRAM}"
            ) from error
        finally:
            if not started:
                self.end()

    def child(self, job: str) -> Child | str:
        """Return a child that knows the job; or why its module can't be imported.

        Raises:
            HelperLost: it ended.
            InfraError: this process is at its limit of open files.
        """
        while self.idle:
            child = self.idle.pop()
            if job in child.jobs:
                return child
            self.discard(child)
        try:
            self._sock.sendall(pack(["fork", job, JOBS[job]]))
            data, fds, _, _ = socket.recv_fds(self._sock, READ_BYTES, 1)
            [(pid, more)] = self._inbox.feed(data)  # one small message, sent whole
        except (EOFError, OSError) as error:
            raise HelperLost from error
        if pid is None:
            return str(more)
        if not fds:
            raise InfraError("the guard can't reach a child: this process may open no more files")
        sock = socket.socket(fileno=fds[0])
        sock.set_inheritable(False)
        self._socks.add(sock)
        return Child(pid, sock, Inbox(sock), frozenset(more))

    def discard(self, child: Child) -> str:
        """Kill a child; returns how it ended.

        Raises:
            HelperLost: it ended.
        """
        self._socks.discard(child.sock)
        child.sock.close()
        try:
            self._sock.sendall(pack(["end", child.pid]))
            return str(self._inbox.receive()[0])
        except (EOFError, OSError) as error:
            raise HelperLost from error

    def end(self) -> None:
        """Close the sockets, which helper and children take as their end; kill if they don't."""
        self.forget_sockets()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Leave helper and children alone, in a process that was forked from their host."""
        self.forget_sockets()
        self._process.returncode = 0  # or its destructor would warn that it still runs

    def forget_sockets(self) -> None:
        """Close this process's copies."""
        for sock in (self._sock, *self._socks):
            sock.close()


def _start(fd: int) -> subprocess.Popen[bytes]:
    bound = threading.current_thread() is threading.main_thread()
    path = [entry or os.getcwd() for entry in sys.path if isinstance(entry, str)]  # noqa: PTH109
    arguments: list[Any] = [fd, os.getpid(), int(bound), json.dumps(path)]
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-P", "-s", str(_PROGRAM), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[fd],
        env=kept | _REPEATABLE,
    )
