"""The first process of a cell: forks a run per input, watches it, and tells the host.

It never looks at a program's text and sees its output as bytes only. What it holds for one run is
not in the memory of the next but for what went through its pipes.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import time
from dataclasses import dataclass

import filters
import kernel
import program
from jail import Cell, Plan

FRAME = struct.Struct("<BiddQQQ")
"""How it ended, exit code, CPU and wall seconds, peak KiB, bytes of output and of errors."""
ENDINGS = ("exit", "cpu", "wall", "output", "memory", "broken")
NOT_LOCKED = 117
"""A run that could not be locked down ends so, before the program begins; ours."""
_MIB = 1 << 20
_CHUNK = 1 << 18
_KEEP_ERRORS = 1 << 15
_GROW = 0x000F  # F_SEAL_SEAL | SHRINK | GROW | WRITE
_ADD_SEALS = 1033
_TICK_S = 0.002


@dataclass(frozen=True, slots=True)
class Job:
    """What the host sends with a program; the texts follow in the same file."""

    source_bytes: int
    input_bytes: list[int]
    cpu_s: float
    wall_s: float
    memory_mib: int
    output_mib: int
    disk_mib: int


def read_job(bundle: int) -> tuple[Job, int]:
    """Read the head of a bundle; returns it with the place where the source begins."""
    size = int.from_bytes(os.pread(bundle, 8, 0), "little")
    return Job(**json.loads(os.pread(bundle, size, 8))), 8 + size


def supervise(plan: Plan, bundle: int, channel: socket.socket) -> None:
    """Run a program on all its inputs, one after the other. Does not return."""
    status = 1
    try:
        job, at = read_job(bundle)
        source = os.pread(bundle, job.source_bytes, at)
        at += job.source_bytes
        cell = Cell(plan, job.disk_mib)
        cache = os.memfd_create("code") if len(job.input_bytes) > 1 else None
        for size in job.input_bytes:
            run = _start(cell, job, source, _input(bundle, at, size), cache)
            at += size
            _report(channel, _watch(run, job, channel))
            cell.clean()
        cell.close()
        status = 0
    except BrokenPipeError:
        status = 0  # the host has no more use for it
    finally:
        os._exit(status)


@dataclass(slots=True)
class _Run:
    pid: int
    stdout: int
    stderr: int
    begun: float


def _start(cell: Cell, job: Job, source: bytes, stdin: int, cache: int | None) -> _Run:
    out, to_out = os.pipe2(os.O_CLOEXEC)
    err, to_err = os.pipe2(os.O_CLOEXEC)
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _become(cell, job, source, (stdin, to_out, to_err, cache))
    for fd in (stdin, to_out, to_err):
        os.close(fd)
    os.set_blocking(out, False)
    os.set_blocking(err, False)
    return _Run(pid, out, err, begun)


def _become(cell: Cell, job: Job, source: bytes, fds: tuple[int, int, int, int | None]) -> None:
    """Turn this process into a run of the program; never returns."""
    try:
        os.setsid()
        program.lock(cell)
        program.take_streams(*fds)
        program.set_limits(job.cpu_s, job.memory_mib, job.disk_mib)
        kernel.install_filter(filters.program_filter(os.getpid()))
        program.run(source, cached=fds[3] is not None)
    finally:
        os._exit(NOT_LOCKED)


def _input(bundle: int, at: int, size: int) -> int:
    """Copy an input into a sealed file of its own, without passing it through our memory."""
    stdin = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    end = at + size
    while at < end:
        at += os.sendfile(stdin, bundle, at, end - at)
    os.lseek(stdin, 0, os.SEEK_SET)
    fcntl.fcntl(stdin, _ADD_SEALS, _GROW)
    return stdin


class _Output:
    """What came out of one stream so far."""

    def __init__(self, fd: int, keep: int | None) -> None:
        self.fd = fd
        self.total = 0
        self._keep = keep
        self._parts: list[bytes] = []
        self._tail = b""

    def read(self, most: int) -> bool:
        """Take what is there; returns whether more may come. Stops beyond ``most`` bytes."""
        while self.total <= most:
            try:
                data = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.total += len(data)
            if self._keep is None:
                self._parts.append(data)
            elif len(self._parts) == 0 or sum(map(len, self._parts)) < self._keep:
                self._parts.append(data[: self._keep])
                self._tail = data[self._keep :][-self._keep :]
            else:
                self._tail = (self._tail + data)[-self._keep :]
        return False

    def text(self) -> bytes:
        return b"".join(self._parts) + self._tail


@dataclass(frozen=True, slots=True)
class _Ending:
    how: str
    exit_code: int
    cpu_s: float
    wall_s: float
    rss_kib: int
    stdout: bytes
    stderr: bytes


def _watch(run: _Run, job: Job, channel: socket.socket) -> _Ending:
    """Follow a run to its end, and end it where a limit is passed."""
    most = job.output_mib * _MIB
    outputs = {run.stdout: _Output(run.stdout, None), run.stderr: _Output(run.stderr, _KEEP_ERRORS)}
    ended = os.pidfd_open(run.pid)
    poller = select.poll()
    for fd in (ended, channel.fileno(), *outputs):
        poller.register(fd, select.POLLIN)
    how, left_s, ready = "exit", _TICK_S, set[int]()
    while how == "exit" and ended not in ready:
        ready = {fd for fd, _ in poller.poll(max(left_s, _TICK_S) * 1e3)}
        if channel.fileno() in ready:
            raise BrokenPipeError(errno.EPIPE, "the host is gone")
        for fd in ready & outputs.keys():
            if not outputs[fd].read(most):
                poller.unregister(fd)
        how, left_s = _limits(run, job)
        if any(output.total > most for output in outputs.values()):
            how = "output"
    os.close(ended)
    return _end(run, job, how, (outputs[run.stdout], outputs[run.stderr]))


def _limits(run: _Run, job: Job) -> tuple[str, float]:
    """Which limit is passed, and else for how many seconds none can be."""
    wall_s = job.wall_s - (time.monotonic() - run.begun)
    cpu_s = job.cpu_s - time.clock_gettime(~run.pid << 3 | 2)  # the clock of a process
    how = "cpu" if cpu_s <= 0 else "wall" if wall_s <= 0 else "exit"
    return how, min(cpu_s, wall_s)


def _end(run: _Run, job: Job, how: str, outputs: tuple[_Output, _Output]) -> _Ending:
    most = job.output_mib * _MIB
    os.kill(run.pid, signal.SIGKILL)  # to a process that has ended it does nothing
    _, status, usage = os.wait4(run.pid, 0)
    wall_s = time.monotonic() - run.begun
    for output in outputs:
        output.read(most)
        os.close(output.fd)
        if output.total > most:
            how = "output"
    cpu_s = usage.ru_utime + usage.ru_stime
    if how == "exit" and cpu_s > job.cpu_s:
        how = "cpu"
    exit_code = os.waitstatus_to_exitcode(status)
    if how == "exit" and exit_code == NOT_LOCKED:
        how = "broken"
    errors = outputs[1].text()
    if how == "exit" and exit_code == 1 and _out_of_memory(errors):
        how = "memory"
    text = outputs[0].text()[:most]
    return _Ending(how, exit_code, cpu_s, wall_s, usage.ru_maxrss, text, errors)


def _out_of_memory(errors: bytes) -> bool:
    """Whether the last line names a MemoryError, of Python or of numpy."""
    lines = errors.rstrip().rsplit(b"\n", 1)
    return lines[-1].split(b":")[0].endswith(b"MemoryError")


def _report(channel: socket.socket, end: _Ending) -> None:
    head = FRAME.pack(
        ENDINGS.index(end.how),
        end.exit_code,
        end.cpu_s,
        end.wall_s,
        end.rss_kib,
        len(end.stdout),
        len(end.stderr),
    )
    channel.sendall(head + end.stdout + end.stderr)
