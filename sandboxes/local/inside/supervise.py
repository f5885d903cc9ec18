"""The first process of a cell: forks a run per input, watches it, and tells the host.

Neither a program's text nor what it reads or prints passes its memory, which the next program gets
a copy of: the kernel moves them from file to file.
"""

from __future__ import annotations

import contextlib
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
ENDINGS = ("exit", "cpu", "wall", "output", "memory", "broken", "gone")
_MIB = 1 << 20
_CHUNK = 1 << 18
_KEEP_ERRORS = 1 << 16
"""Bytes of the errors that are told: the last ones, where the traceback is (ours)."""
_GROW = 0x000F  # F_SEAL_SEAL | SHRINK | GROW | WRITE
_ADD_SEALS = 1033
_SPLICE_NONBLOCK = 2
_TICK_S = 0.002
_CODES = 4


@dataclass(frozen=True, slots=True)
class Job:
    """What the host sends with a program; the texts follow in the same file."""

    source_bytes: int
    key: str
    """The same for the same source; empty where its compiled code is not worth keeping."""
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


def supervise(plan: Plan, channel: socket.socket) -> None:
    """Run one program after the other, each on all its inputs. Does not return."""
    status = 1
    try:
        cell = Cell(plan)
        captures = _Captures(os.memfd_create("stdout"), os.memfd_create("stderr"), os.eventfd(0))
        codes = _Codes()
        while True:
            message, fds, _, _ = socket.recv_fds(channel, 1, 1)
            if not message:
                break
            _run_all(cell, captures, codes, (fds[0], channel))
            os.close(fds[0])
        cell.close()
        status = 0
    except BrokenPipeError:
        status = 0  # the host has no more use for it
    except OSError as error:
        say_why(channel.fileno(), error)
    finally:
        os._exit(status)


def say_why(channel: int, error: OSError) -> None:
    """Tell the host why it gets no more outcomes on this channel, in the form of one."""
    told = kernel.told(error)
    text = str(told["error"]).encode(errors="replace")
    head = FRAME.pack(ENDINGS.index("gone"), error.errno or 0, 0.0, 0.0, 0, 0, len(text))
    with contextlib.suppress(BrokenPipeError):
        os.write(channel, head + text)


class _Codes:
    """Files for compiled code, each shared by the runs of one source, of the last few sources.

    A run fills its file before its program begins, and closes it; nobody else can open it.
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}

    def file(self, key: str) -> int | None:
        if not key:
            return None
        fd = self._files.pop(key, None)
        self._files[key] = os.memfd_create("code") if fd is None else fd
        if len(self._files) > _CODES:
            os.close(self._files.pop(next(iter(self._files))))
        return self._files[key]


def _run_all(
    cell: Cell, captures: _Captures, codes: _Codes, where: tuple[int, socket.socket]
) -> None:
    bundle, channel = where
    job, source_at = read_job(bundle)
    cell.furnish(job.disk_mib)
    cache = codes.file(job.key)
    at = source_at + job.source_bytes
    for size in job.input_bytes:
        stdin = _input(bundle, at, size)
        at += size
        run = _start(cell, job, (bundle, source_at), (stdin, captures.locked, cache))
        _report(channel, captures, _watch(run, job, captures, channel))
        cell.clean()


@dataclass(frozen=True, slots=True)
class _Captures:
    """Files in memory for what comes out of a run, used again and again."""

    stdout: int
    stderr: int
    locked: int
    """An event that a run raises once it is locked down, and closes before the program begins."""


@dataclass(slots=True)
class _Run:
    pid: int
    stdout: int
    stderr: int
    begun: float


def _start(cell: Cell, job: Job, source: tuple[int, int], fds: tuple[int, int, int | None]) -> _Run:
    stdin, locked, cache = fds
    out, to_out = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    err, to_err = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(to_out, True)
    os.set_blocking(to_err, True)
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _become(cell, job, source, (stdin, to_out, to_err, cache), locked)
    for fd in (stdin, to_out, to_err):
        os.close(fd)
    return _Run(pid, out, err, begun)


def _become(
    cell: Cell,
    job: Job,
    source: tuple[int, int],
    fds: tuple[int, int, int, int | None],
    locked: int,
) -> None:
    """Turn this process into a run of the program; never returns."""
    try:
        bundle, at = source
        text = os.pread(bundle, job.source_bytes, at)
        os.setsid()
        cell.lock()
        kernel.install_filter(filters.program_filter(os.getpid()))
        program.set_limits(job.cpu_s, job.memory_mib, job.disk_mib, cell.others)
        os.eventfd_write(locked, 1)
        program.take_streams(*fds)
        program.run(text, cached=fds[3] is not None)
    except OSError as error:
        os.write(fds[2], str(error).encode(errors="replace"))
    finally:
        os._exit(1)


def _input(bundle: int, at: int, size: int) -> int:
    """Copy an input into a sealed file of its own, without passing it through our memory."""
    stdin = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    end = at + size
    while at < end:
        at += os.sendfile(stdin, bundle, at, end - at)
    os.lseek(stdin, 0, os.SEEK_SET)
    fcntl.fcntl(stdin, _ADD_SEALS, _GROW)
    return stdin


@dataclass(slots=True)
class _Stream:
    """One stream of a run on its way into its file; its bytes never pass our memory."""

    pipe: int
    file: int
    at: int
    """Where in its file it begins."""
    total: int = 0

    def take(self, most: int) -> bool:
        """Take what is there; returns whether more may come. Stops beyond ``most`` bytes."""
        while self.total <= most:
            try:
                moved = os.splice(
                    self.pipe,
                    self.file,
                    _CHUNK,
                    offset_dst=self.at + self.total,
                    flags=_SPLICE_NONBLOCK,
                )
            except BlockingIOError:
                return True
            if not moved:
                return False
            self.total += moved
        return False


@dataclass(frozen=True, slots=True)
class _Ending:
    how: str
    exit_code: int
    cpu_s: float
    wall_s: float
    rss_kib: int
    stdout_bytes: int
    stderr_bytes: int


def _watch(run: _Run, job: Job, captures: _Captures, channel: socket.socket) -> _Ending:
    """Follow a run to its end, and end it where a limit is passed."""
    most = job.output_mib * _MIB
    streams = {
        run.stdout: _Stream(run.stdout, captures.stdout, FRAME.size),
        run.stderr: _Stream(run.stderr, captures.stderr, 0),
    }
    ended = os.pidfd_open(run.pid)
    poller = select.poll()
    for fd in (ended, channel.fileno(), *streams):
        poller.register(fd, select.POLLIN)
    how, left_s, ready = "exit", _TICK_S, set[int]()
    while how == "exit" and ended not in ready:
        ready = {fd for fd, _ in poller.poll(max(left_s, _TICK_S) * 1e3)}
        if channel.fileno() in ready:
            raise BrokenPipeError(errno.EPIPE, "the host is gone")
        for fd in ready & streams.keys():
            if not streams[fd].take(most):
                poller.unregister(fd)
        how, left_s = _limits(run, job)
        if any(stream.total > most for stream in streams.values()):
            how = "output"
    os.close(ended)
    return _end(run, job, how, captures, (streams[run.stdout], streams[run.stderr]))


def _limits(run: _Run, job: Job) -> tuple[str, float]:
    """Which limit is passed, and else for how many seconds none can be."""
    wall_s = job.wall_s - (time.monotonic() - run.begun)
    cpu_s = job.cpu_s - time.clock_gettime(~run.pid << 3 | 2)  # the clock of a process
    how = "cpu" if cpu_s <= 0 else "wall" if wall_s <= 0 else "exit"
    return how, min(cpu_s, wall_s)


def _end(
    run: _Run, job: Job, how: str, captures: _Captures, streams: tuple[_Stream, _Stream]
) -> _Ending:
    most = job.output_mib * _MIB
    os.kill(run.pid, signal.SIGKILL)  # to a process that has ended it does nothing
    _, status, usage = os.wait4(run.pid, 0)
    wall_s = time.monotonic() - run.begun
    for stream in streams:
        stream.take(most)
        os.close(stream.pipe)
        if stream.total > most:
            how = "output"
    cpu_s = usage.ru_utime + usage.ru_stime
    exit_code = os.waitstatus_to_exitcode(status)
    if how == "exit" and cpu_s > job.cpu_s:
        how = "cpu"
    if how == "exit" and exit_code == 1 and _out_of_memory(streams[1]):
        how = "memory"
    if not _was_locked(captures.locked):
        how = "broken"
    lengths = (min(stream.total, most) for stream in streams)
    return _Ending(how, exit_code, cpu_s, wall_s, usage.ru_maxrss, *lengths)


def _was_locked(locked: int) -> bool:
    try:
        return os.eventfd_read(locked) == 1
    except BlockingIOError:
        return False


def _out_of_memory(errors: _Stream) -> bool:
    """Whether the last line is what a run writes for a MemoryError that nothing caught."""
    size = len(program.OUT_OF_MEMORY)
    if errors.total < size:
        return False
    return os.pread(errors.file, size, errors.total - size) == program.OUT_OF_MEMORY


def _report(channel: socket.socket, captures: _Captures, end: _Ending) -> None:
    errors = min(end.stderr_bytes, _KEEP_ERRORS)
    head = FRAME.pack(
        ENDINGS.index(end.how),
        end.exit_code,
        end.cpu_s,
        end.wall_s,
        end.rss_kib,
        end.stdout_bytes,
        errors,
    )
    # In one piece, so that the host wakes once.
    os.pwrite(captures.stdout, head, 0)
    _pour(channel, captures.stdout, 0, FRAME.size + end.stdout_bytes)
    _pour(channel, captures.stderr, end.stderr_bytes - errors, errors)
    for file in (captures.stdout, captures.stderr):
        os.ftruncate(file, 0)


def _pour(channel: socket.socket, file: int, at: int, size: int) -> None:
    end = at + size
    while at < end:
        at += os.sendfile(channel.fileno(), file, at, end - at)
