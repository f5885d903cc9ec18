"""One stored answer, as both engines of the store keep it: compressed and with a checksum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol
from zlib import crc32

import pyarrow as pa

from vtdata.errors import RunError

COMPRESS_FROM = 512
"""Bytes from which zstd is worth its time (ours)."""


@dataclass(frozen=True, slots=True)
class Row:
    """A key with its answer."""

    key: bytes
    """The 32 bytes of the request's sha256."""
    final: bool
    """False for a failed answer, which the next run asks for again."""
    size: int
    """Bytes when unpacked; 0 where ``value`` isn't compressed."""
    check: int
    """crc32 of key and value."""
    value: bytes


class Engine(Protocol):
    """How one range of a store lies on the disk; not for more than one thread at a time."""

    path: Path

    def put(self, rows: list[Row]) -> None:
        """Add rows and commit them together; a final row is never replaced."""
        ...

    def get(self, keys: list[bytes]) -> list[Row]:
        """The rows that are there, in any order."""
        ...

    def sync(self) -> None:
        """Bring what is committed to the disk, where a power cut can't take it."""
        ...

    def count(self) -> int:
        """Number of final rows."""
        ...

    def some(self, limit: int) -> list[Row]:
        """Up to ``limit`` final rows, for estimates."""
        ...

    def close(self) -> None:
        """Close its files."""
        ...


@cache
def _zstd() -> pa.Codec:
    return pa.Codec("zstd", compression_level=3)


def pack(key: bytes, payload: bytes, *, final: bool) -> Row:
    """Make a row of a payload."""
    if len(payload) < COMPRESS_FROM:
        return Row(key, final, 0, crc32(payload, crc32(key)), payload)
    value = _zstd().compress(payload, asbytes=True)
    return Row(key, final, len(payload), crc32(value, crc32(key)), value)


def unpack(row: Row, path: Path) -> bytes:
    """The payload of a row that was read from ``path``.

    Raises:
        RunError: its checksum is wrong.
    """
    if crc32(row.value, crc32(row.key)) != row.check:
        raise broken(path, f"the answer {row.key.hex()} does not match its checksum")
    if not row.size:
        return row.value
    return _zstd().decompress(row.value, decompressed_size=row.size, asbytes=True)


def broken(path: Path, what: str) -> RunError:
    """The error for a file of the store that can't be read."""
    return RunError(
        f"store file {path} is damaged: {what}; restore it from a copy, or move it away and run "
        "again: the answers that it held are then asked for once more"
    )
