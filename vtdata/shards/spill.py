"""Spill: each rank leaves its rows on disk, by partition of the shuffle.

A row's place in the shuffled set is its key, blake2b of (seed, row id). Partitions are ranges of
keys, so reading them one after the other and sorting each gives one order, whatever the number of
partitions and ranks.

A file is a row of segments, each one Arrow record batch of one split and one partition under LZ4;
behind them an index of where each lies, its length, and a mark that it is whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vtdata.errors import RunError

PARTITION_BYTES = 32 * 2**20
"""What a partition should hold, uncompressed (ours)."""
MAX_PARTITIONS = 65_536
BUFFER_BYTES = 32 * 2**20
"""A rank holds at most this many bytes of rows before it writes them (ours)."""

KEY, SIZE = "_key", "_size"
SIDE = "_side"
"""Where a row says what belongs to the side table; see ``Side``."""
SIDE_SPLIT = "tests"
SEGMENT_BYTES = 8 * 2**20

SIDE_SCHEMA = pa.schema([("sha256", pa.string()), ("spec", pa.string())])
_INTERNAL = [(KEY, pa.uint64()), (SIZE, pa.int64())]
_MARK = b"vtspill1"
_PLAIN = re.compile(r"[0-9A-Za-z:._-]*").fullmatch  # what JSON writes as it is, ten times as fast
_Held = tuple[int, int, dict[str, Any]]
"""A row with its key and its size."""


@dataclass(frozen=True, slots=True)
class Side:
    """A text too large for its row, kept once by its hash."""

    sha256: str
    spec: str


def partitions_for(raw_bytes: int) -> int:
    """Return into how many partitions a block of so many uncompressed bytes goes.

    >>> partitions_for(0), partitions_for(32 * 2**20 + 1)
    (1, 2)
    """
    return min(max(1, -(-raw_bytes // PARTITION_BYTES)), MAX_PARTITIONS)


def shuffle_key(seed: int, row_id: str) -> int:
    """Return the 64-bit place of a row in the shuffled set.

    >>> shuffle_key(17, "q1:teacher:0")
    5373668027156324058
    """
    digest = blake2b(f"{seed}:{row_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest)


def sizes_of(array: pa.Array) -> np.ndarray:
    """Return about how many bytes each value takes uncompressed, the same on every machine.

    >>> sizes_of(pa.array([["ab", "ä"], []])).tolist()
    [16, 4]
    """
    kind = array.type
    if pa.types.is_list(kind):
        total = np.concatenate([[0], np.cumsum(sizes_of(array.values))])
        offsets = array.offsets.to_numpy()
        return 4 + total[offsets[1:]] - total[offsets[:-1]]
    if pa.types.is_struct(kind):
        return sum(map(sizes_of, array.flatten()), np.zeros(len(array), dtype=np.int64))
    if pa.types.is_string(kind):
        lengths = pc.call_function("binary_length", [array])
        return 4 + pc.fill_null(lengths, 0).to_numpy().astype(np.int64)
    return np.full(len(array), 8, dtype=np.int64)


def _held_size(row: dict[str, Any]) -> int:
    """Return about how many characters a row holds; nothing that is written depends on it."""
    size, values = 1_000, list(row.values())
    for value in values:  # grows by what is inside
        kind = type(value)
        if kind is str:
            size += len(value)
        elif kind is dict:
            values.extend(value.values())
        elif kind is list:
            values.extend(value)
    return size


def spill_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a segment: the row's columns, its key and its size."""
    return pa.schema([*schema, *(pa.field(name, kind) for name, kind in _INTERNAL)])


class Spill:
    """What one rank writes; a context manager, whole only once it was closed without an error.

    Holds at most 32 MB of rows.

    Args:
        path: the file; written under a temporary name until ``close``.
        schema: of the rows.
        partitions: see ``partitions_for``; the same on every rank.
        seed: of the shuffle; ``cut`` must be given the same.
    """

    def __init__(self, path: Path, schema: pa.Schema, partitions: int, *, seed: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._temporary = path, path.with_name(path.name + ".tmp")
        self._schema, self._names = schema, set(schema.names)
        self._partitions, self._seed = partitions, seed
        self._file = self._temporary.open("wb")
        self._buffers: dict[str, list[_Held]] = {}
        self._held_bytes = 0
        self._index: list[tuple[str, int, int, int, int]] = []

    def add(self, row: dict[str, Any], split: str, size: int | None = None) -> None:
        """Take a row; under ``SIDE`` it may hold a ``Side``, which goes to the side table.

        ``size`` is about how many bytes the row holds, for callers that know; nothing that is
        written depends on it.

        Raises:
            ValueError: the row's columns are not the schema's; Arrow would fill in nulls and
                drop what it does not know.
        """
        side = row.get(SIDE)
        if row.keys() - {SIDE} != self._names:
            wrong = sorted((row.keys() - {SIDE}) ^ self._names)
            raise ValueError(f"row '{row.get('id')}': its columns differ from the schema: {wrong}")
        if side is not None:
            self._hold(SIDE_SPLIT, side.sha256, {"sha256": side.sha256, "spec": side.spec}, None)
        self._hold(split, row["id"], row, size)
        if self._held_bytes >= BUFFER_BYTES:
            self._flush()

    def _hold(self, split: str, row_id: str, row: dict[str, Any], size: int | None) -> None:
        size = _held_size(row) if size is None else size
        self._held_bytes += size
        self._buffers.setdefault(split, []).append((shuffle_key(self._seed, row_id), size, row))

    def _flush(self) -> None:
        for split, held in sorted(self._buffers.items()):
            held.sort(key=lambda item: item[0])
            schema = SIDE_SCHEMA if split == SIDE_SPLIT else self._schema
            for start, stop in _segments(held, self._partitions):
                self._write(split, held[start:stop], schema)
        self._buffers, self._held_bytes = {}, 0
        pa.default_memory_pool().release_unused()

    def _write(self, split: str, held: list[_Held], schema: pa.Schema) -> None:
        rows = pa.array([row for _, _, row in held], pa.struct(list(schema)))
        keys = pa.array([key for key, _, _ in held], pa.uint64())
        columns = [*rows.flatten(), keys, pa.array(sizes_of(rows))]
        raw = pa.RecordBatch.from_arrays(columns, schema=spill_schema(schema)).serialize()
        packed = pa.compress(raw, codec="lz4")
        partition = held[0][0] * self._partitions >> 64
        self._index.append((split, partition, self._file.tell(), packed.size, raw.size))
        self._file.write(packed)

    def close(self) -> None:
        """Write what is held and the index, and give the file its name."""
        self._flush()
        names = ("split", "partition", "offset", "packed", "raw")
        index = pa.table([list(c) for c in zip(*self._index, strict=True)] or [[]] * 5, names=names)
        facts = {"seed": str(self._seed), "partitions": str(self._partitions)}
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, index.schema.with_metadata(facts)) as stream:
            stream.write_table(index.replace_schema_metadata(facts))
        footer = sink.getvalue()
        self._file.write(footer)
        self._file.write(footer.size.to_bytes(8) + _MARK)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._temporary.rename(self._path)

    def abandon(self) -> None:
        """Throw away what was written."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


def _segments(held: list[_Held], partitions: int) -> Iterator[tuple[int, int]]:
    """Cut sorted rows where the partition changes, and at 8 MB, since Arrow doubles buffers."""
    start, held_bytes = 0, 0
    for at, (key, size, _) in enumerate(held):
        other = at > start and key * partitions >> 64 != held[start][0] * partitions >> 64
        if other or (at > start and held_bytes + size > SEGMENT_BYTES):
            yield start, at
            start, held_bytes = at, 0
        held_bytes += size
    if held:
        yield start, len(held)


class SpillReader:
    """Reads a closed spill, one partition at a time."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        end = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(0, end - 16))
        tail = self._file.read()
        if tail[8:] != _MARK:
            self._file.close()
            raise RunError(
                f"spill {path.name} is not whole ({end} bytes, no mark at its end): delete it and "
                "run again"
            )
        length = int.from_bytes(tail[:8])
        self._file.seek(end - 16 - length)
        with pa.ipc.open_stream(self._file.read(length)) as stream:
            index = stream.read_all()
        facts = index.schema.metadata
        self.seed, self.partitions = int(facts[b"seed"]), int(facts[b"partitions"])
        columns = [
            index.column(name).to_numpy() for name in ("partition", "offset", "packed", "raw")
        ]
        places = np.array(columns, dtype=np.int64).T
        splits = np.array(index.column("split").to_pylist(), dtype=object)
        # stable, so that segments stay in the order of the file
        self._places = {
            split: found[np.argsort(found[:, 0], kind="stable")]
            for split in set(splits)
            for found in [places[splits == split]]
        }

    def read(self, split: str, partition: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the batches of one partition."""
        places = self._places.get(split, np.empty((0, 4), dtype=np.int64))
        start, stop = np.searchsorted(places[:, 0], [partition, partition + 1])
        for _, offset, packed, raw in places[start:stop].tolist():
            self._file.seek(offset)
            buffer = pa.decompress(self._file.read(packed), raw, codec="lz4")
            yield pa.ipc.read_record_batch(buffer, spill_schema(schema))

    def close(self) -> None:
        self._file.close()
