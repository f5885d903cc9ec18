"""The launcher: a clean interpreter that enters the sandbox and forks a cell per program.

Started by the host with one socket. Two processes remain: this one, which only waits, and the
first one of the new namespaces; when that one ends, the kernel ends all that came from it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys

import jail
import kernel
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
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    try:
        if plan.level == "namespaces":
            jail.separate(plan)
        else:
            jail.drop_root()
        if watched:
            kernel.die_with_parent()  # a change of user takes it back
        pid = os.fork()
        if pid == 0:
            _enter(plan, control)
    except OSError as error:
        _send(control, {"errno": error.errno, "error": str(error)})
        sys.exit(1)
    control.close()
    _, status = os.waitpid(pid, 0)
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _enter(plan: jail.Plan, control: socket.socket) -> None:
    """Be the first process inside: lock up, and serve."""
    try:
        kernel.die_with_parent()
        if plan.level == "namespaces":
            jail.move_in()
        kernel.drop_bounding()
        kernel.no_new_privileges()
        kernel.set_dumpable(0)
    except OSError as error:
        _send(control, {"errno": error.errno, "error": str(error)})
        os._exit(1)
    _hide()
    gc.collect()
    gc.freeze()
    gc.disable()
    _send(control, {"landlock": kernel.landlock_version()})
    _serve(plan, control)


def _hide() -> None:
    """Leave programs a Python that looks freshly started, with the common modules loaded."""
    for name in ("filters", "jail", "kernel", "program", "supervise", "syscalls"):
        del sys.modules[name]
    sys.path[0] = jail.WORK


def _send(control: socket.socket, message: dict[str, object]) -> None:
    control.send(json.dumps(message).encode())


def _serve(plan: jail.Plan, control: socket.socket) -> None:
    """Start a cell per program until the host is gone."""
    cells: dict[int, int] = {}

    def reap(*_: object) -> None:
        while cells:
            pid, _status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            for key in [key for key, cell in cells.items() if cell == pid]:
                del cells[key]

    signal.signal(signal.SIGCHLD, reap)
    while True:
        message, fds, _, _ = socket.recv_fds(control, 4096, 2)
        if not message:
            os._exit(0)
        order = json.loads(message)
        if "kill" in order:
            pid = cells.get(order["kill"])
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            continue
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        try:
            cells[order["run"]] = _cell(plan, control, fds)
        except OSError as error:
            sys.stderr.write(f"no cell for a program: {error}\n")
        finally:
            for fd in fds:
                os.close(fd)  # the host sees the end of its channel
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _cell(plan: jail.Plan, control: socket.socket, fds: list[int]) -> int:
    bundle, channel = fds
    pid = kernel.clone(_CLOSED if plan.level == "namespaces" else 0)
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        control.close()
        kernel.die_with_parent()
        supervise.supervise(plan, bundle, socket.socket(fileno=channel))
    return pid


main()
