"""The store's second engine, for file systems on which SQLite can't be trusted: append-only files.

Each range is a log of records and an index that covers the log up to some offset. What lies behind
that offset is read when the file is opened, and goes into the index when it has grown enough, so
memory is bounded by the tail whatever the size of the log. A write that a kill tore is cut off.

    NN.log      records: magic, flags, size, length, checksum; key; value
    NN.index    magic, offset covered; then (key, offset in the log, final) sorted by key
"""

from __future__ import annotations

import heapq
import mmap
import os
import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from zlib import crc32

from vtdata.errors import RunError
from vtdata.llm.row import Row, broken

SUFFIX = ".log"
_MAGIC = b"VTR1"
_HEAD = struct.Struct("<4sIIIII")  # magic, final, size, length, checksum, checksum of this head
_INDEX_MAGIC = b"VTINDEX1"
_INDEX_HEAD = struct.Struct("<8sQ")
_ENTRY = struct.Struct("<32sQ")
_KEY_BYTES = 32
_FINAL = 1 << 63
TAIL_ROWS = 32_768
"""Records behind the index before it is renewed; about 5 MB of memory (ours)."""
TAIL_BYTES = 64 << 20
"""Bytes behind the index before it is renewed: what an opening has to read (ours)."""


class Segments:
    """One range as an append-only log."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.cut = 0
        """Bytes of a torn last record that were cut off."""
        self._index = path.with_suffix(".index")
        flags = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT
        self._fd = os.open(path, flags | os.O_CLOEXEC, 0o644)
        try:
            self._covered, self._map = self._read_index()
            self._tail: dict[bytes, int] = {}
            self._end = self._scan(self._covered)
            self._drop_torn_tail(read_only=read_only)
        except BaseException:
            os.close(self._fd)
            raise

    def put(self, rows: list[Row]) -> None:
        parts, at, places = [], self._end, []
        for row in rows:
            if self._is_final(row.key) or any(k == row.key and e & _FINAL for k, e in places):
                continue
            body = _head(row) + row.key + row.value
            parts.append(body)
            places.append((row.key, at | (_FINAL if row.final else 0)))
            at += len(body)
        self._append(b"".join(parts))
        self._tail.update(places)
        self._end = at
        if len(self._tail) >= TAIL_ROWS or at - self._covered >= TAIL_BYTES:
            self._renew_index()

    def get(self, keys: list[bytes]) -> list[Row]:
        places = [(key, self._find(key)) for key in dict.fromkeys(keys)]
        return [self._row(key, at) for key, at in places if at is not None]

    def sync(self) -> None:
        os.fsync(self._fd)

    def count(self) -> int:
        return sum(1 for _ in self._final_places())

    def some(self, limit: int) -> list[Row]:
        return [self._row(key, at) for key, at in islice(self._final_places(), limit)]

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
        os.close(self._fd)

    def _is_final(self, key: bytes) -> bool:
        return bool((self._find(key) or 0) & _FINAL)

    def _find(self, key: bytes) -> int | None:
        at = self._tail.get(key)
        return self._find_in_index(key) if at is None else at

    def _find_in_index(self, key: bytes) -> int | None:
        if self._map is None:
            return None
        low, high = 0, (len(self._map) - _INDEX_HEAD.size) // _ENTRY.size
        while low < high:
            middle = (low + high) // 2
            found, at = _ENTRY.unpack_from(self._map, _INDEX_HEAD.size + middle * _ENTRY.size)
            if found == key:
                return at
            low, high = (middle + 1, high) if found < key else (low, middle)
        return None

    def _row(self, key: bytes, place: int) -> Row:
        at = place & ~_FINAL
        row = _parse(os.pread(self._fd, _HEAD.size + _KEY_BYTES, at))
        if row is None or row[1] != key:
            raise broken(self.path, f"no record of {key.hex()} at byte {at}")
        (_, final, size, length, check, _), _ = row
        value = os.pread(self._fd, length, at + _HEAD.size + _KEY_BYTES)
        return Row(key, bool(final), size, check, value)

    def _append(self, data: bytes) -> None:
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._fd, data[written:], self._end + written)
        except OSError as error:
            os.ftruncate(self._fd, self._end)
            raise RunError(
                f"store file {self.path}: {error.strerror}; free space or mend the disk and run "
                "again, nothing that was committed is lost"
            ) from error

    def _scan(self, start: int) -> int:
        """Read the records behind the index into the tail; return where the good ones end."""
        at = start
        while (parsed := _parse(os.pread(self._fd, _HEAD.size + _KEY_BYTES, at))) is not None:
            (_, final, _, length, check, _), key = parsed
            value = os.pread(self._fd, length, at + _HEAD.size + _KEY_BYTES)
            if len(value) < length or crc32(value, crc32(key)) != check:
                break
            self._tail[key] = at | (_FINAL if final else 0)
            at += _HEAD.size + _KEY_BYTES + length
        return at

    def _drop_torn_tail(self, *, read_only: bool) -> None:
        size = os.fstat(self._fd).st_size
        rest = os.pread(self._fd, TAIL_BYTES, self._end + 1)
        if self._end > size or _later_record(rest):
            raise broken(self.path, f"the record at byte {self._end} can't be read")
        self.cut = size - self._end
        if self.cut and not read_only:
            os.ftruncate(self._fd, self._end)

    def _read_index(self) -> tuple[int, mmap.mmap | None]:
        try:
            with self._index.open("rb") as file:
                found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            return 0, None
        except ValueError as error:  # an empty file
            raise broken(self._index, str(error)) from error
        magic, covered = _INDEX_HEAD.unpack(found[: _INDEX_HEAD.size].ljust(_INDEX_HEAD.size))
        if magic != _INDEX_MAGIC or (len(found) - _INDEX_HEAD.size) % _ENTRY.size:
            raise broken(self._index, "it is not an index; it can be deleted, the log rebuilds it")
        return covered, found

    def _renew_index(self) -> None:
        """Merge the tail into the index, as a new file that takes the old one's place."""
        os.fsync(self._fd)  # an index must not point at what a power cut takes
        new = self._index.with_suffix(".index.tmp")
        with new.open("wb", buffering=1 << 20) as file:
            file.write(_INDEX_HEAD.pack(_INDEX_MAGIC, self._end))
            for key, place in self._places():
                file.write(_ENTRY.pack(key, place))
            file.flush()
            os.fsync(file.fileno())
        if self._map is not None:
            self._map.close()
        new.replace(self._index)
        self._tail.clear()
        self._covered, self._map = self._read_index()

    def _places(self) -> Iterator[tuple[bytes, int]]:
        """Every key once, sorted; the tail's record counts where both have one."""
        both = heapq.merge(
            ((key, 0, at) for key, at in sorted(self._tail.items())),
            ((key, 1, at) for key, at in self._indexed()),
        )
        last = None
        for key, _, at in both:
            if key != last:
                yield key, at
            last = key

    def _indexed(self) -> Iterator[tuple[bytes, int]]:
        if self._map is not None:
            yield from _ENTRY.iter_unpack(memoryview(self._map)[_INDEX_HEAD.size :])

    def _final_places(self) -> Iterator[tuple[bytes, int]]:
        return ((key, at) for key, at in self._places() if at & _FINAL)


def _head(row: Row) -> bytes:
    fields = (_MAGIC, int(row.final), row.size, len(row.value), row.check)
    return _HEAD.pack(*fields, crc32(row.key, crc32(struct.pack("<4sIIII", *fields))))


def _parse(raw: bytes) -> tuple[tuple[bytes, int, int, int, int, int], bytes] | None:
    """Head and key of a record; None where there is no whole, sound head."""
    if len(raw) < _HEAD.size + _KEY_BYTES:
        return None
    head, key = _HEAD.unpack_from(raw), raw[_HEAD.size : _HEAD.size + _KEY_BYTES]
    sound = crc32(key, crc32(raw[: _HEAD.size - 4])) == head[5]
    return (head, key) if head[0] == _MAGIC and sound else None


def _later_record(rest: bytes) -> bool:
    """Whether a sound record follows: then the bad one was not torn by the last write."""
    at = rest.find(_MAGIC)
    while at >= 0:
        if _parse(rest[at : at + _HEAD.size + _KEY_BYTES]) is not None:
            return True
        at = rest.find(_MAGIC, at + 1)
    return False
