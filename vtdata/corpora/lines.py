"""Lines and records of text files, in bounded memory.

Whatever a file holds, at most one line or record of ``max_bytes`` is in memory. A longer one is
skipped to its end and comes as ``data=None``, so that its row number and its loss are known.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from vtdata.errors import ConfigError, RunError

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_CHUNK_BYTES = 1 << 16
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a text file as bytes; ``data`` is None where it was above the size limit."""

    number: int
    """The line where it starts, counted from 1, as editors do."""
    size: int
    """Bytes, with its line end."""
    data: bytes | None


def stem(path: Path) -> str:
    """Return a file's name without its endings.

    >>> stem(Path("data/gsm.train.jsonl.gz"))
    'gsm.train'
    """
    return Path(path.stem).stem if path.suffix in _COMPRESSIONS else path.stem


def open_bytes(path: Path, shown: str) -> BinaryIO:
    """Open a file for reading, decompressed if it ends in ``.gz`` or ``.zst``, past a UTF-8 mark.

    pyarrow decompresses: it reads members one after the other and, unlike the zstandard package,
    fails on a truncated file instead of ending early.

    Raises:
        ConfigError: the file is not there, a folder, unreadable or not in UTF-8.
        RunError: its first bytes don't decompress.
    """
    kind = _COMPRESSIONS.get(path.suffix)
    try:
        raw = pa.OSFile(str(path)) if path.is_file() else None
    except OSError as error:
        raise ConfigError(f"{shown} can't be opened: {error.strerror or error}") from error
    if raw is None:
        found = "a folder" if path.is_dir() else "not there"
        raise ConfigError(f"{shown} is {found}; a source reads files")
    native = pa.CompressedInputStream(raw, kind) if kind else raw
    stream = io.BufferedReader(cast("io.RawIOBase", native), _CHUNK_BYTES)
    try:
        head = stream.peek(4)[:4]
    except OSError as error:
        raise RunError(f"{shown} is corrupt: {error}") from error
    if head[:2] in _OTHER_ENCODINGS:
        raise ConfigError(f"{shown} is in {_OTHER_ENCODINGS[head[:2]]}; convert it to UTF-8")
    if head.startswith(_UTF8_MARK):
        stream.read(len(_UTF8_MARK))
    return stream


def lines_of(stream: BinaryIO, max_bytes: int, shown: str) -> Iterator[Line]:
    """Yield every line that isn't blank.

    Raises:
        RunError: the file ends in the middle of its compression, or can't be read on.
    """
    number = 0
    while True:
        number += 1
        try:
            data = stream.readline(max_bytes + 1)
            size = len(data)
            if size > max_bytes and not data.endswith(b"\n"):
                size += _skip_line(stream)
        except OSError as error:
            raise RunError(f"{shown} is corrupt after line {number - 1}: {error}") from error
        if not size:
            return
        if size > max_bytes:
            yield Line(number, size, None)
        elif data.strip():
            yield Line(number, size, data)


def _skip_line(stream: BinaryIO) -> int:
    """Read to the end of the line and return how many bytes that was."""
    size = 0
    while chunk := stream.readline(_CHUNK_BYTES):
        size += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return size


def records_of(stream: BinaryIO, max_bytes: int, shown: str) -> Iterator[Line]:
    """Yield CSV records: lines put together until their quotes are even.

    A quote that is never closed makes one record of the rest of the file, as in every CSV reader.
    """
    number = 0
    while True:
        start, size, quotes, held = number + 1, 0, 0, bytearray()
        while True:
            try:
                part = stream.readline(_CHUNK_BYTES)
            except OSError as error:
                raise RunError(f"{shown} is corrupt after line {number}: {error}") from error
            size += len(part)
            quotes += part.count(b'"')
            number += part.endswith(b"\n")
            if size <= max_bytes:
                held += part
            if not part or (part.endswith(b"\n") and quotes % 2 == 0):
                break
        if not size:
            return
        if size > max_bytes:
            yield Line(start, size, None)
        elif held.strip():
            yield Line(start, size, bytes(held))
