"""Jobs that misbehave, each in one way; tests enter them in ``JOBS`` by name."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

_count = 0
_kept: list[bytearray] = []
printed_at_import = sys.stdout.write("a job module that prints\n")


def echo(value: Any) -> Any:
    return value


def pid() -> int:
    return os.getpid()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def spin() -> None:
    while True:
        pass


def c_code() -> int:
    return len(str(3 ** (10**8)))  # one bytecode that runs for hours and listens to no signal


def grow() -> int:
    held = []
    while True:
        held.append(bytearray(2**20))


def keep(size: int) -> int:
    _kept.append(bytearray(os.urandom(1) * size))
    return os.getpid()


def die(how: str) -> None:
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(7)
    sys.exit(3)


def fail() -> None:
    raise LookupError("no such thing")


def deep(depth: int) -> int:
    return 1 + deep(depth + 1)


def loud() -> str:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    os.write(1, b"to fd 1\n")
    os.write(2, b"to fd 2\n")
    return "said"


def unwritable() -> Any:
    return {1, 2}


def surroundings() -> dict[str, Any]:
    """What a child can see and use."""
    fds = {link.name: link for link in Path("/proc/self/fd").iterdir()}
    opened = {name: str(link.readlink()) for name, link in fds.items() if link.is_symlink()}
    return {
        "environ": dict(os.environ),
        "fds": {fd: where for fd, where in opened.items() if not where.startswith("/proc/")},
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "memory": resource.getrlimit(resource.RLIMIT_AS),
        "hash": hash("a string"),
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "modules": sorted(sys.modules),
    }
