"""What the kernel holds a child to, and how its memory errors come to light."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

MEMORY_BYTES = 512 * 2**20
"""Address space of a child, and so an upper bound of its memory (ours). A warmed helper has 80 MB,
with reasoning_gym 220 MB."""
SPARE_BYTES = 256 * 2**20
"""What a child gets at least, where its helper is already large."""
GROWN_BYTES = 64 * 2**20
"""A child that has grown by this much is replaced, so that no job pays for those before it."""

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, on Linux; leave if it has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def peak_bytes() -> int:
    """Return the most memory that this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def confine() -> None:
    """Limit this process: memory, no core dump.

    macOS enforces no limit on address space: there only the limit on time bounds what a job takes.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = max(MEMORY_BYTES, size + SPARE_BYTES)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limit_cpu(seconds: float) -> None:
    """Let this process use so much more processor time, then end it.

    The helper's clock comes first. This is for the child whose helper is gone, on a system that
    doesn't end it with its parent.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 2
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def let_memory_errors_through(packages: Sequence[str]) -> None:
    """Make ``except Exception`` in these packages catch every kind of exception but MemoryError.

    math-verify answers False after any exception, so "out of memory" would read as "different".
    A name that a module doesn't define is looked up in its globals first, and ``except`` takes a
    tuple: every module gets one under the name ``Exception``. A kind of exception that is defined
    later passes through as well and ends the job as an error, which is no verdict either.
    """
    caught = tuple(kind for kind in Exception.__subclasses__() if kind is not MemoryError)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages:
            vars(module).setdefault("Exception", caught)
