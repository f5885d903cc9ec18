"""The Parquet files of one split: row groups and files bounded by bytes, names with their number.

How many files there will be is known only at the end, so they are written under hidden names and
get ``train-00000-of-00003.parquet`` when the last is closed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.errors import ConfigError
from vtdata.records.parts import HashingFile

MIB = 2**20
_LEAF_BYTES = 256
"""Upper bound of what a column chunk adds to the footer and the page index (125 measured)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of what is written (all ours)."""

    max_file_bytes: int = 512 * MIB
    """No file is larger, as written, unless one row alone is."""
    min_file_bytes: int = 256 * MIB
    """No file is smaller but the last of its split."""
    row_group_bytes: int = 64 * MIB
    """A row group is closed before it holds more uncompressed bytes than this."""
    row_group_rows: int = 2_000

    def __post_init__(self) -> None:
        room = self.max_file_bytes - self.min_file_bytes
        if min(self.row_group_bytes, self.row_group_rows, self.min_file_bytes) < 1:
            raise ConfigError(f"sizes of shard files must be positive, got {self}")
        if room < 2 * self.row_group_bytes:
            raise ConfigError(
                f"files of {self.min_file_bytes} to {self.max_file_bytes} bytes leave no room for "
                f"row groups of {self.row_group_bytes}: raise max_file_bytes to at least "
                f"{self.min_file_bytes + 2 * self.row_group_bytes}"
            )


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file as a manifest lists it; ``name`` is relative to the manifest's folder."""

    name: str
    split: str
    rows: int
    bytes: int
    sha256: str


class ShardFiles:
    """Writes the rows of one split in the order in which they come.

    Holds at most one row group twice. The bytes depend on the rows and their sizes alone, not on
    the tables in which they come.
    """

    def __init__(self, folder: Path, split: str, schema: pa.Schema, limits: Limits) -> None:
        self._folder, self._split, self._schema, self._limits = folder, split, schema, limits
        self._pieces: list[pa.Table] = []
        self._rows = self._bytes = 0
        self._open: _OpenFile | None = None
        self._done: list[tuple[Path, int, HashingFile]] = []

    def add(self, table: pa.Table, sizes: Sequence[int]) -> None:
        """Append rows; ``sizes`` holds the uncompressed bytes of each."""
        start = 0
        for stop, size in enumerate(sizes):
            full = self._bytes + size > self._limits.row_group_bytes
            if self._rows and (full or self._rows >= self._limits.row_group_rows):
                self._pieces.append(table.slice(start, stop - start))
                self._write_group()
                start = stop
            self._rows += 1
            self._bytes += size
        self._pieces.append(table.slice(start))

    def _write_group(self) -> None:
        # One chunk per column: where chunks begin would show in the pages.
        group = pa.concat_tables(self._pieces).combine_chunks()
        self._pieces = []
        pa.default_memory_pool().release_unused()
        if self._open and self._open.bytes_with(group) > self._limits.max_file_bytes:
            self._finish()
        if self._open is None:
            path = self._folder / f".{self._split}-{len(self._done):05d}.parquet.tmp"
            self._open = _OpenFile(path, self._schema)
        self._open.write(group)
        self._rows = self._bytes = 0

    def _finish(self) -> None:
        if self._open:
            self._open.close()
            self._done.append((self._open.path, self._open.rows, self._open.sink))
            self._open = None

    def close(self, *, even_if_empty: bool) -> list[FileEntry]:
        """Finish the last file and name them all."""
        if self._rows or (even_if_empty and not self._done and not self._open):
            self._pieces = self._pieces or [self._schema.empty_table()]
            self._write_group()
        self._finish()
        entries = []
        for number, (path, rows, sink) in enumerate(self._done):
            name = f"{self._split}-{number:05d}-of-{len(self._done):05d}.parquet"
            path.rename(self._folder / name)
            entries.append(FileEntry(name, self._split, rows, sink.size, sink.hexdigest()))
        return entries

    def abandon(self) -> None:
        """Close what is open and remove what was written."""
        self._finish()
        for path, _, _ in self._done:
            path.unlink(missing_ok=True)


class _OpenFile:
    """A file under its temporary name."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path, self.rows = path, 0
        self.sink = HashingFile(path)
        self._leaves = sum(_count_leaves(field.type) for field in schema)
        self._groups = 0
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self.sink, mode="w"),
            schema,
            compression="zstd",
            compression_level=3,
            write_page_index=True,
            write_statistics=_indexed(schema),
            store_schema=False,
            write_batch_size=16,
        )

    def bytes_with(self, group: pa.Table) -> int:
        """An upper bound of the file's size if it also held ``group``."""
        footer = (self._groups + 1) * self._leaves * _LEAF_BYTES
        return self.sink.size + group.nbytes + footer

    def write(self, group: pa.Table) -> None:
        if not group.num_rows:  # readers choke on a row group of no rows
            return
        self._writer.write_table(group, row_group_size=group.num_rows)
        self._groups += 1
        self.rows += group.num_rows

    def close(self) -> None:
        self._writer.close()
        self.sink.close()


def _count_leaves(kind: pa.DataType) -> int:
    if pa.types.is_list(kind):
        return _count_leaves(kind.value_type)
    return sum(_count_leaves(field.type) for field in kind) if pa.types.is_struct(kind) else 1


def _indexed(schema: pa.Schema) -> list[str]:
    """Columns with minimum and maximum: short values that a reader prunes by, no free text."""
    free_text = ("answer", "solution", "spec")
    return [
        field.name
        for field in schema
        if not pa.types.is_nested(field.type) and field.name not in free_text
    ]


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
