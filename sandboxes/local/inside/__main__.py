"""The launcher: a clean interpreter that enters the sandbox and forks cells for programs.

Started by the host with one socket. Two processes remain: this one, which only waits, and the
first one of the new namespaces; when that one ends, the kernel ends all that came from it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys

import jail
import kernel
import program
import supervise

_NICE = 10
_CLOSED = kernel.NEWPID | kernel.NEWNS | kernel.NEWIPC


def main() -> None:
    """Reach the level that the host asked for, fork the server, and wait for it."""
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    watched = settings.pop("watched")
    plan = jail.Plan(**settings)
    if watched:
        kernel.die_with_parent()
    _offer_numpy(plan)
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    try:
        if plan.level == "namespaces":
            jail.separate(plan)
        else:
            jail.drop_root(plan.work)
            jail.open_to_all(plan)
        if watched:
            kernel.die_with_parent()  # a change of user takes it back
        pid = os.fork()
        if pid == 0:
            _enter(plan, control)
    except OSError as error:
        _send(control, kernel.told(error))
        sys.exit(1)
    control.close()
    _, status = os.waitpid(pid, 0)
    if plan.work:
        jail.empty(plan.work)
        with contextlib.suppress(OSError):  # the host removes it too, and may be first
            os.rmdir(plan.work)
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _enter(plan: jail.Plan, control: socket.socket) -> None:
    """Be the first process inside: lock up, and serve."""
    try:
        kernel.die_with_parent()
        if plan.level == "namespaces":
            jail.move_in()
        kernel.drop_bounding()
        kernel.no_new_privileges()
        kernel.set_dumpable(0)  # and so all that is forked from here
        program.prepare()
        program.rehearse()
    except OSError as error:
        _send(control, kernel.told(error))
        os._exit(1)
    _hide()
    gc.collect()
    gc.freeze()
    gc.disable()
    _send(control, {"landlock": kernel.landlock_version()})
    _serve(plan, control)


def _offer_numpy(plan: jail.Plan) -> None:
    """Make numpy importable, and import it here where programs are known to want it."""
    if plan.site:
        sys.path.append(plan.site)
    if plan.preload:
        importlib.import_module("numpy")


def _hide() -> None:
    """Leave programs a Python that looks freshly started, with the common modules loaded."""
    for name in ("filters", "jail", "kernel", "program", "supervise", "syscalls"):
        del sys.modules[name]
    sys.path[0] = jail.WORK


def _send(control: socket.socket, message: dict[str, object]) -> None:
    control.send(json.dumps(message).encode())


def _serve(plan: jail.Plan, control: socket.socket) -> None:
    """Make a cell for every channel that the host sends, until the host is gone."""
    cells: set[int] = set()

    def reap(*_: object) -> None:
        while cells:
            pid, _status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            cells.discard(pid)

    signal.signal(signal.SIGCHLD, reap)
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        try:
            cells.add(_cell(plan, control, fds[0]))
        except OSError as error:
            supervise.say_why(fds[0], error)
        finally:
            os.close(fds[0])  # the host sees the end of its channel
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _cell(plan: jail.Plan, control: socket.socket, channel: int) -> int:
    pid = kernel.clone(_CLOSED if plan.level == "namespaces" else 0)
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        control.close()
        kernel.die_with_parent()
        supervise.supervise(plan, socket.socket(fileno=channel))
    return pid


main()
