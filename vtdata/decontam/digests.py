"""Content hashes of files, remembered as long as a file can't have changed unseen."""

from __future__ import annotations

import json
import time
from pathlib import Path

from vtdata.decontam.inputs import Shard
from vtdata.decontam.report.write import replacing
from vtdata.errors import RunError

SETTLED_NS = 2_000_000_000
"""A file that was changed less than so long before it was hashed is hashed again next time (ours):
some file systems' clocks are too coarse to show a further change."""

Stamp = tuple[int, int, int, int, int]
"""Size, mtime_ns, ctime_ns, device and inode."""


def stamp(path: Path) -> Stamp:
    """Return what the file system says of a file's content."""
    about = path.stat()
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_dev, about.st_ino


class Digests:
    """The hashes of a store's shards; ``save`` keeps them for the next audit."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[Stamp, str]] = {}
        if path.is_file():
            self._known = _read(path)

    def of(self, shard: Shard) -> str:
        """Return the sha256 of a shard's content.

        Raises:
            RunError: the file changes while it is read.
        """
        if shard.path is None:
            return shard.digest()
        name = str(shard.path.resolve())
        before = stamp(shard.path)
        known = self._known.get(name)
        if known is not None and known[0] == before:
            return known[1]
        began = time.time_ns()
        digest = shard.digest()
        if stamp(shard.path) != before:
            raise changed(shard)
        if began - max(before[1], before[2]) > SETTLED_NS:
            self._known[name] = (before, digest)
        else:
            self._known.pop(name, None)
        return digest

    def save(self) -> None:
        """Write them down."""
        text = json.dumps(self._known, indent=0, sort_keys=True)
        with replacing(self._path) as file:
            file.write(text.encode("utf-8", "surrogatepass"))


def changed(shard: Shard) -> RunError:
    """What is said of a file that somebody writes to."""
    return RunError(
        f"{shard.path} changes while it is audited: wait until nobody writes to it and run again"
    )


def _read(path: Path) -> dict[str, tuple[Stamp, str]]:
    try:
        data = json.loads(path.read_bytes())
        return {name: (_stamp(found), digest) for name, (found, digest) in data.items()}
    except (ValueError, TypeError, AttributeError):
        return {}  # hashes are found again


def _stamp(found: list[int]) -> Stamp:
    size, mtime, ctime, device, inode = map(int, found)
    return size, mtime, ctime, device, inode
