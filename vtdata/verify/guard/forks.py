"""The helper's side: warms jobs, forks children for the host, ends them."""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import signal
import socket
from typing import Any

from vtdata.verify.guard.child import Job, describe, live
from vtdata.verify.guard.limits import let_memory_errors_through
from vtdata.verify.guard.wire import Inbox, pack

CAREFUL = ("math_verify", "latex2sympy2_extended", "reasoning_gym")
"""Packages that take any exception for an answer."""
_LOOK_S = 2.0
"""How often to see whether the host has gone without its end of the socket being closed."""


class Forks:
    """Serves one host: ``["fork", job, target]`` and ``["end", pid]``, one at a time.

    The answer to the first is ``[pid, jobs]`` with the socket to the child as a file descriptor,
    or ``[None, why]``; to the second ``[how]``, how the child ended. The host talks to the child
    itself: a job that takes 300 µs would wait as long again for a process between the two.
    """

    def __init__(self, host: socket.socket, parent: int) -> None:
        self._host = host
        self._parent = parent
        self._functions: dict[str, Job] = {}
        self._children: set[int] = set()

    def serve(self) -> None:
        """Work until the host is gone; then no child is left."""
        logging.disable()
        self._host.settimeout(_LOOK_S)
        inbox = Inbox(self._host)
        try:
            self._host.sendall(pack(["ready"]))
            while os.getppid() == self._parent:
                with contextlib.suppress(TimeoutError):
                    self._do(*inbox.receive())
        except (BrokenPipeError, ConnectionResetError, EOFError):
            return  # the host is gone
        finally:
            for pid in list(self._children):
                self._end(pid)

    def _do(self, what: str, *arguments: Any) -> None:
        if what == "end":
            self._host.sendall(pack([self._end(*arguments)]))
            return
        failed = self._warm(*arguments)
        if failed:
            self._host.sendall(pack([None, failed]))
            return
        pid, sock = self._fork()
        with sock:
            message = pack([pid, list(self._functions)])
            socket.send_fds(self._host, [message], [sock.fileno()])

    def _warm(self, job: str, target: str) -> str:
        """Import the job's module and heat its caches; returns what went wrong."""
        if job in self._functions:
            return ""
        module_name, _, name = target.partition(":")
        try:
            module = importlib.import_module(module_name)
            function = getattr(module, name)
            getattr(module, "warm", list)()
        except Exception as error:  # noqa: BLE001 (whatever a library raises at import: the answer)
            return describe(error)
        let_memory_errors_through(CAREFUL)
        self._functions[job] = function
        gc.collect()
        gc.freeze()  # or the first collection in each child would copy every page
        return ""

    def _fork(self) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        helper = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                self._host.close()
                ours.close()
                live(theirs, helper, self._functions)
            finally:
                os._exit(0)
        theirs.close()
        self._children.add(pid)
        return pid, ours

    def _end(self, pid: int) -> str:
        """Kill a child and wait for its end; returns how it ended, by this if by nothing else."""
        self._children.remove(pid)
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(status):
            return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
        return f"exit status {os.waitstatus_to_exitcode(status)}"
