"""Parts: the Parquet files between stages, sorted by (bucket, id).

A writer gets queries in nearly any order. It sorts what it holds, closes a row group at 64 MB or
2,000 rows and appends it to the open part while the order allows; otherwise it begins a new part.
A reader merges parts lazily: a part is opened when the merge reaches its first key, and row
groups outside the wanted buckets are never read. So a step that makes new ids reshuffles just by
writing, and the order that a reader sees does not depend on who wrote what.
"""

from __future__ import annotations

import hashlib
import heapq
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.errors import RunError
from vtdata.records.arrow import from_batch, size_of, to_batch
from vtdata.records.query import Query

ROW_GROUP_BYTES = 32 * 2**20
"""A row group is closed at this many uncompressed bytes (ours). Writing one holds it three times:
as queries, as Arrow and as encoded pages, so this is what bounds a worker's memory."""
ROW_GROUP_ROWS = 2_000
PART_BYTES = 512 * 2**20
BATCH_BYTES = 4 * 2**20

Key = tuple[int, str, str, str]


def sort_key(query: Query) -> Key:
    """The order of a part; the first origin settles it between rows that are not united yet."""
    origins = query.provenance.origins
    return (
        query.bucket,
        query.id,
        origins[0].source if origins else "",
        origins[0].row if origins else "",
    )


@dataclass(frozen=True, slots=True)
class Part:
    """One finished file, as a manifest lists it."""

    file: str
    rows: int
    bytes: int
    sha256: str
    raw_bytes: int
    """Uncompressed size as ``size_of`` counts it: the same however the rows were split."""
    first: tuple[int, str]
    last: tuple[int, str]

    @classmethod
    def load(cls, data: dict[str, Any]) -> Part:
        part = cls(**data)
        return replace(part, first=tuple(data["first"]), last=tuple(data["last"]))


class HashingFile:
    """A file that is written once from start to end and knows its sha256 when it is closed."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._sha256 = hashlib.sha256()
        self.size = 0
        self.closed = False
        self._abandoned = False

    def write(self, data: bytes) -> int:
        self.size += len(data)
        if self._abandoned:
            return len(data)
        self._sha256.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        if not self.closed:
            self._file.flush()

    def tell(self) -> int:
        return self.size

    def close(self) -> None:
        if not self.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self.closed = True

    def abandon(self) -> None:
        """Let go of the file; whatever is still written to it is forgotten."""
        self._abandoned = self.closed = True
        with suppress(OSError):  # what the buffer holds may find no room
            self._file.close()

    def hexdigest(self) -> str:
        return self._sha256.hexdigest()


def parquet_writer(sink: HashingFile, schema: pa.Schema) -> pq.ParquetWriter:
    """Return the one kind of Parquet writer that we use: zstd, page index, no pandas metadata."""
    return pq.ParquetWriter(
        pa.PythonFile(sink, mode="w"),
        schema,
        compression="zstd",
        compression_level=3,
        write_page_index=True,
        write_page_checksum=True,
        write_statistics=True,
        store_schema=False,
    )


class PartWriter:
    """Writes one rank's queries into ``folder`` as ``{stem}-{seq}.parquet``.

    Holds at most one row group's worth of queries in memory.
    """

    def __init__(self, folder: Path, stem: str, schema: pa.Schema) -> None:
        self._folder, self._stem, self._schema = folder, stem, schema
        self._held: list[tuple[Key, Query]] = []
        self._held_bytes = 0
        self._open: _OpenPart | None = None
        self.parts: list[Part] = []
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, query: Query) -> None:
        size = size_of(query)
        if self._held and (
            self._held_bytes + size > ROW_GROUP_BYTES or len(self._held) >= ROW_GROUP_ROWS
        ):
            self._flush()
        self._held.append((sort_key(query), query))
        self._held_bytes += size

    def _flush(self) -> None:
        if not self._held:
            return
        self._held.sort(key=lambda pair: pair[0])
        first, last = self._held[0][0], self._held[-1][0]
        if self._open and (first < self._open.last or self._open.sink.size > PART_BYTES):
            self._finish()
        if self._open is None:
            path = self._folder / f"{self._stem}-{len(self.parts):05d}.parquet"
            self._open = _OpenPart(path, self._schema, first)
        self._open.write([query for _, query in self._held], last, self._held_bytes)
        self._held, self._held_bytes = [], 0
        pa.default_memory_pool().release_unused()

    def _finish(self) -> None:
        if self._open:
            self.parts.append(self._open.finish())
            self._open = None

    def close(self) -> list[Part]:
        self._flush()
        self._finish()
        return self.parts

    def abandon(self) -> None:
        """Close what is open without giving it its name."""
        if self._open:
            self._open.abandon()
            self._open = None


class _OpenPart:
    """A part under its temporary name."""

    def __init__(self, path: Path, schema: pa.Schema, first: Key) -> None:
        self._path, self._schema = path, schema
        self._temporary = path.with_suffix(".parquet.tmp")
        self.sink = HashingFile(self._temporary)
        self._writer = parquet_writer(self.sink, schema)
        self._first, self.last = first, first
        self._rows = self._raw_bytes = 0

    def write(self, queries: Sequence[Query], last: Key, raw_bytes: int) -> None:
        self._writer.write_batch(to_batch(queries, self._schema), row_group_size=len(queries))
        self._rows += len(queries)
        self._raw_bytes += raw_bytes
        self.last = last

    def finish(self) -> Part:
        self._writer.close()
        self.sink.close()
        self._temporary.rename(self._path)
        return Part(
            file=self._path.name,
            rows=self._rows,
            bytes=self.sink.size,
            sha256=self.sink.hexdigest(),
            raw_bytes=self._raw_bytes,
            first=self._first[:2],
            last=self.last[:2],
        )

    def abandon(self) -> None:
        self.sink.abandon()  # first, so that closing the writer needs no room on a full disk
        self._writer.close()
        self._temporary.unlink(missing_ok=True)


def read_parts(folder: Path, parts: Sequence[Part], buckets: range) -> Iterator[Query]:
    """Yield the queries of the wanted buckets in order of (bucket, id).

    Only what ``parts`` lists is read, one batch of at most about 4 MB per open part.

    Raises:
        RunError: a part is not there or has another size than listed.
    """
    waiting = sorted(
        (
            part
            for part in parts
            if part.rows and part.first[0] < buckets.stop and part.last[0] >= buckets.start
        ),
        key=lambda part: part.first,
        reverse=True,
    )
    heap: list[_Open] = []
    opened = 0
    while waiting or heap:
        while waiting and (not heap or waiting[-1].first <= heap[0][0][:2]):
            part = waiting.pop()
            opened += 1
            _push(heap, opened, _read_part(folder, part, buckets), part)
        if len(heap) == 1 and (not waiting or waiting[-1].first > heap[0][4].last):
            _, _, query, rows, _ = heap.pop()  # nothing to merge with
            yield query
            del query  # it grows while the rest is read
            yield from rows
        elif heap:
            _, order, query, rows, part = heapq.heappop(heap)
            yield query
            _push(heap, order, rows, part)


_Open = tuple[Key, int, Query, Iterator[Query], Part]
"""A part being merged: its next key, a number that settles ties, its next query, the rest."""


def _push(heap: list[_Open], order: int, rows: Iterator[Query], part: Part) -> None:
    query = next(rows, None)
    if query is not None:
        heapq.heappush(heap, (sort_key(query), order, query, rows, part))


def _read_part(folder: Path, part: Part, buckets: range) -> Iterator[Query]:
    path = folder / part.file
    size = path.stat().st_size if path.exists() else None
    if size != part.bytes:
        found = "it is not there" if size is None else f"it has {size} bytes"
        raise RunError(
            f"part {path} should have {part.bytes} bytes and {found}: delete its folder "
            f"{folder.name} and run again; model calls are answered from the store"
        )
    batch_rows = max(1, BATCH_BYTES * part.rows // max(part.raw_bytes, 1))
    # pre_buffer would keep every row group that was read; the checksums find flipped bytes
    with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
        groups = [
            index
            for index in range(file.metadata.num_row_groups)
            if _overlaps(file.metadata.row_group(index).column(0).statistics, buckets)
        ]
        for batch in file.iter_batches(batch_size=min(batch_rows, 512), row_groups=groups):
            column = batch.column(0).to_numpy()
            # Rows are sorted by bucket within a row group, not over all groups of a merged batch.
            inside = np.flatnonzero((column >= buckets.start) & (column < buckets.stop))
            if len(inside) < batch.num_rows:
                batch = batch.take(pa.array(inside))
            queries = from_batch(batch)[::-1]
            del batch
            while queries:  # a query grows while it is worked on: hold none that was handed out
                yield queries.pop()


def _overlaps(statistics: Any, buckets: range) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return statistics.min < buckets.stop and statistics.max >= buckets.start
