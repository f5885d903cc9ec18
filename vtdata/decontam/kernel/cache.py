"""Where compiled code is kept between processes.

numba knows compiled code by the time and size of the one file that a function is in. Both can stay
the same while the code, or a file that it imports from, changes (images with fixed times, a cache
that outlives an upgrade). So each state of our code has a folder of its own.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

_SOURCES = (
    ("vtdata.decontam.kernel", "compiled.py"),
    ("vtdata.decontam.kernel", "tables.py"),
    ("vtdata.decontam.normal", "characters.py"),
    ("vtdata.decontam", "windows.py"),
    ("vtdata.decontam", "suspect.py"),
)
"""The loops, and what their constants come from; tables are handed to them, never compiled in."""


@cache
def folder() -> Path:
    """The folder for this state of the code, this Python, numba and kind of machine.

    It lies in NUMBA_CACHE_DIR where that is set, else in the user's cache folder.
    """
    digest = sha256()
    for package, name in _SOURCES:
        digest.update((files(package) / name).read_bytes())
    digest.update(f"{version('numba')} {version('llvmlite')} {platform.machine()}".encode())
    digest.update(sys.version.encode())
    base = os.environ.get("NUMBA_CACHE_DIR") or _user_cache() / "vtdata"
    return Path(base) / f"kernel-{digest.hexdigest()[:16]}"


def _user_cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else Path.home() / ".cache"


def is_warm() -> bool:
    """Whether the compiled scan lies there."""
    return any(folder().glob("**/compiled._scan-*.nbc"))


@contextmanager
def cached_by_content() -> Generator[bool]:
    """Functions that numba caches, declared in here, use our folder; others aren't affected.

    Yields whether they can be cached: where nothing can be written, each process compiles.
    """
    import numba

    config: Any = numba.config  # it has its settings from a list, which no checker sees
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder())
    try:
        yield _is_writable(folder())
    finally:
        config.CACHE_DIR = before


def _is_writable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(path, os.W_OK)
