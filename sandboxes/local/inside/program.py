"""The process of one run of a program: locked down, then Python as a script would find it."""

from __future__ import annotations

import _io as io
import atexit
import gc
import marshal
import os
import resource
import sys
import types
from _sitebuiltins import Quitter
from os import _exit, write
from typing import Any

import filters
import kernel

OUT_OF_MEMORY = b"MemoryError\n"
_MIB = 1 << 20
_STACK_BYTES = 120 * _MIB
"""The kernel keeps 128 MiB free below the stack of the first process (ours: a little less)."""
_CALLS = 2 if sys.version_info < (3, 12) else 0
"""Calls of ours below the program that are no frames; before 3.12 they count as recursion."""
_FILES = 128
_THREADS = 512
_REHEARSALS = 20
_TRIAL = (
    b"import sys\na = [int(x) for x in '1 2'.split()]\ndef f(n):\n    return n + len(a)\nf(1)\n"
)
_SIZE = 8
_CACHE = 3
"""Where the compiled code is, until the program begins."""


def set_limits(cpu_s: float, memory_mib: int, disk_mib: int, others: int) -> None:
    """Set what the kernel holds for a process and its threads; CPU is cut finer by the host.

    Args:
        cpu_s: CPU seconds.
        memory_mib: address space.
        disk_mib: size of a file.
        others: threads of the same user that the kernel counts with those of the program.
    """
    cpu = int(cpu_s) + 2
    file_bytes = max(disk_mib, 1) * _MIB
    for kind, value in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_STACK, min(_STACK_BYTES, memory_mib * _MIB)),
        (resource.RLIMIT_AS, memory_mib * _MIB),
        (resource.RLIMIT_NPROC, _THREADS + others),
    ):
        _, most = resource.getrlimit(kind)
        if most != resource.RLIM_INFINITY:
            value = min(value, most)
        resource.setrlimit(kind, (value, value))


def prepare() -> None:
    """Make what every program finds, once, in the process that all runs are forked from.

    The streams are made on files of the kinds that they will stand on: Python asks at once, and
    remembers, whether a file can be sought in.
    """
    builtins = sys.modules["builtins"]
    builtins.exit = Quitter("exit", "Ctrl-D (i.e. EOF)")  # site is not loaded
    builtins.quit = Quitter("quit", "Ctrl-D (i.e. EOF)")
    sys.argv = ["main.py"]
    readable, writable = os.pipe()
    file = os.memfd_create("stdin")
    for fd, place in ((file, 0), (writable, 1), (writable, 2)):
        os.dup2(fd, place)
    sys.stdin = sys.__stdin__ = _text("<stdin>", 0, "r", "surrogateescape")
    sys.stdout = sys.__stdout__ = _text("<stdout>", 1, "w", "surrogateescape")
    sys.stderr = sys.__stderr__ = _text("<stderr>", 2, "w", "backslashreplace")
    nothing = os.open("/dev/null", os.O_RDWR)
    for place in range(3):
        os.dup2(nothing, place)
    for fd in (file, readable, writable, nothing):
        os.close(fd)


def rehearse() -> None:
    """Do what every run does, as far as it leaves nothing, before anything is forked.

    Python adapts the code that it runs often, in place; a fork would adapt its own copy each time.
    """
    kept = sys.modules["__main__"], sys.getrecursionlimit()
    for _ in range(_REHEARSALS):
        script = _Script()
        with script:
            exec(_compile(_TRIAL), _new_main().__dict__)
        with script:
            raise SystemExit(0)
        _flush()
        filters.program_filter(1)
        kernel.landlock_version()
    sys.modules["__main__"] = kept[0]
    sys.setrecursionlimit(kept[1])
    gc.disable()


def _new_main() -> types.ModuleType:
    """Make the module that the program is, with room for it to recurse as deep as anywhere."""
    main = types.ModuleType("__main__")
    main.__builtins__ = sys.modules["builtins"]
    sys.modules["__main__"] = main
    gc.enable()
    sys.setrecursionlimit(sys.getrecursionlimit() + _depth() + _CALLS)
    return main


def take_streams(stdin: int, stdout: int, stderr: int, cache: int | None) -> None:
    """Put three files where a program expects them and the cache behind; close all others."""
    for fd, place in ((stdin, 0), (stdout, 1), (stderr, 2)):
        os.dup2(fd, place)
    if cache is not None:
        os.dup2(cache, _CACHE)
    kernel.close_from(_CACHE if cache is None else _CACHE + 1)


def _text(name: str, fd: int, mode: str, errors: str) -> io.TextIOWrapper:
    raw = io.FileIO(fd, mode, closefd=False)
    raw.name = name
    buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    text = io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=errors == "backslashreplace")
    text.mode = mode
    return text


def run(source: bytes, *, cached: bool) -> None:
    """Run a program as Python runs a script, to the end of the process.

    Args:
        source: its text.
        cached: there is a file for the compiled code, shared by the runs of one program.
    """
    script = _Script()
    try:
        with script:
            code = _read_code(source, cached=cached)
            del source
            space = _new_main().__dict__
            exec(code, space)
        script.end()
    finally:
        _exit(script.status)


def _depth() -> int:
    """Frames of ours below the program's: it must not pay for them when it recurses."""
    frame, depth = sys._getframe(2), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def _read_code(source: bytes, *, cached: bool) -> types.CodeType:
    """Compile the source, or take what the first run of it compiled."""
    if not cached:
        return _compile(source)
    size = int.from_bytes(os.pread(_CACHE, _SIZE, 0), "little")
    if size:
        code = marshal.loads(os.pread(_CACHE, size, _SIZE))
    else:
        code = _compile(source)
        _keep_code(marshal.dumps(code))
    os.close(_CACHE)
    return code


def _keep_code(data: bytes) -> None:
    """Write compiled code for later runs, its length last: this run may be ended at any time."""
    if os.pwrite(_CACHE, data, _SIZE) == len(data):
        os.pwrite(_CACHE, len(data).to_bytes(_SIZE, "little"), 0)


def _compile(source: bytes) -> types.CodeType:
    """Compile text, not bytes: a model's text is Unicode whatever its first line declares."""
    text = source.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    return compile(text, "main.py", "exec", dont_inherit=True)


class _Script:
    """What Python does around a script: shows how it ended, waits for threads, flushes.

    It holds what it needs, since a program may have replaced anything that it can reach.
    """

    def __init__(self) -> None:
        self.status = 1
        self._modules, self._run_exit = sys.modules, atexit._run_exitfuncs
        self._hook = sys.excepthook

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type | None, error: BaseException | None, trace: Any) -> bool:
        if error is None:
            self.status = 0
        elif isinstance(error, SystemExit):
            self.status = _exit_status(error)
        elif isinstance(error, MemoryError):
            write(2, OUT_OF_MEMORY)  # for a traceback there may be no memory
        else:
            trace = trace and trace.tb_next
            (sys.excepthook or self._hook)(kind, error.with_traceback(trace), trace)
        return True

    def end(self) -> None:
        # Not imported here: its work after a fork would be half of the fork's.
        threading = self._modules.get("threading")
        if threading is not None:
            threading._shutdown()
        self._run_exit()
        self.status = _flush() or self.status


def _exit_status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def _flush() -> int:
    """Flush what was printed; returns Python's status for output that can't be."""
    failed = 0
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except (OSError, ValueError):
            failed = 120
    return failed
