"""No isolation at all: a plain Python per input, with limits and nothing else.

For machines on which nothing safe works, and programs that you trust. A program can read what you
can read, use the network and leave processes behind. Only its name in a recipe (``sandbox:
unsafe``) selects it, and every outcome says ``none``.

Threat model. Covered: mistakes; CPU, memory of one process, output, size of a file, wall time.
Not covered: anything done on purpose.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

from vtdata.sandbox import Limits, Outcome, State

_MIB = 1 << 20
_CHUNK = 1 << 16
_TICK_S = 0.05
_KEEP_ERRORS = 1 << 16
_BEGIN = """
import resource, sys
def limits(cpu, memory, file):
    for kind, most in ((resource.RLIMIT_CPU, cpu), (resource.RLIMIT_FSIZE, file),
                       (resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory)):
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):
            pass  # macOS can't limit the address space
limits(*map(int, sys.argv[2:]))
with open(sys.argv[1], "rb") as file:
    text = file.read().decode("utf-8", "surrogatepass").removeprefix("\\ufeff")
sys.argv[:] = ["main.py"]
code = compile(text, "main.py", "exec", dont_inherit=True)
del resource, sys, limits, file, text
import builtins
from _sitebuiltins import Quitter
builtins.exit, builtins.quit = Quitter("exit", ""), Quitter("quit", "")
del builtins, Quitter
exec(code)
"""


class Backend:
    """Runs programs with limits and without isolation."""

    def __init__(self) -> None:
        self.isolation = "none"
        self._slot = asyncio.Semaphore(1)

    async def __aenter__(self) -> Self:
        """Nothing is shared by programs."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Every run ends its own process."""

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        """Run a program once per input, each time in a process and a folder of its own."""
        stop = threading.Event()
        try:
            async with self._slot:
                return [await asyncio.to_thread(_run, source, i, limits, stop) for i in inputs]
        finally:
            stop.set()  # when canceled, the thread ends the program


@dataclass(slots=True)
class _Run:
    process: subprocess.Popen[bytes]
    limits: Limits
    begun: float = field(default_factory=time.monotonic)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)


def _run(source: str, text: bytes, limits: Limits, stop: threading.Event) -> Outcome:
    with (
        tempfile.TemporaryDirectory(prefix="vtdata-unsafe-") as folder,
        contextlib.ExitStack() as s,
    ):
        place = Path(folder)
        (place / "in").write_bytes(text)
        (place / "program").write_bytes(source.encode("utf-8", "surrogatepass"))
        (place / "work").mkdir()
        stdin = s.enter_context((place / "in").open("rb"))
        run = _Run(_start(place, stdin, limits), limits)
        try:
            ended = _follow(run, stop)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(run.process.pid, 0)
            run.process.returncode = os.waitstatus_to_exitcode(status)
            for stream in (run.process.stdout, run.process.stderr):
                assert stream is not None
                stream.close()
        cpu_s = usage.ru_utime + usage.ru_stime
        return Outcome(
            _state(run, ended, cpu_s),
            bytes(run.stdout[: limits.output_mib * _MIB]),
            bytes(run.stderr[-_KEEP_ERRORS:]),
            run.process.returncode,
            cpu_s,
            time.monotonic() - run.begun,
            "none",
        )


def _start(place: Path, stdin: IO[bytes], limits: Limits) -> subprocess.Popen[bytes]:
    numbers = (int(limits.cpu_s) + 1, limits.memory_mib * _MIB, limits.disk_mib * _MIB)
    return subprocess.Popen(
        [sys.executable, "-s", "-S", "-P", "-X", "utf8", "-c", _BEGIN, str(place / "program"),
         *map(str, numbers)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=place / "work",
        env={"PATH": os.defpath, "HOME": str(place / "work"), "PYTHONHASHSEED": "0"},
        start_new_session=True,
    )  # fmt: skip


def _follow(run: _Run, stop: threading.Event) -> State | None:
    """Read what comes out until the program ends; returns the limit that it passed, if any."""
    most = run.limits.output_mib * _MIB
    assert run.process.stdout is not None
    assert run.process.stderr is not None
    with selectors.DefaultSelector() as ready:
        ready.register(run.process.stdout, selectors.EVENT_READ, run.stdout)
        ready.register(run.process.stderr, selectors.EVENT_READ, run.stderr)
        while True:
            events = ready.select(_TICK_S)
            for key, _ in events:
                data = os.read(key.fd, _CHUNK)
                key.data.extend(data)
                if not data:
                    ready.unregister(key.fileobj)
            if max(len(run.stdout), len(run.stderr)) > most:
                return "output_limit"
            if stop.is_set() or time.monotonic() - run.begun > run.limits.wall_s:
                return "time_limit"
            if not events and _has_ended(run.process.pid):
                return None


def _has_ended(pid: int) -> bool:
    """Whether it can be waited for; waiting is left to who wants its usage."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _state(run: _Run, ended: State | None, cpu_s: float) -> State:
    if ended is not None:
        return ended
    if cpu_s > run.limits.cpu_s:
        return "time_limit"
    if run.process.returncode == 0:
        return "ok"
    last = bytes(run.stderr[-200:]).rstrip().rsplit(b"\n", 1)[-1]
    return "memory_limit" if last.startswith(b"MemoryError") else "runtime_error"
