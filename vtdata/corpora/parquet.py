"""Row groups of Parquet files, row by row, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.corpora.paths import File
from vtdata.errors import ConfigError, DataError, RunError

BATCH_BYTES = 16 << 20
"""About how many bytes of a row group are decoded at a time (ours)."""
BATCH_ROWS = 1000
"""Most rows decoded at a time (ours)."""

Row = dict[str, Any] | DataError
"""A row, or why it can't be one."""


@dataclass(frozen=True, slots=True)
class Group:
    """One row group of an open file."""

    file: File
    parquet: pq.ParquetFile
    number: int
    first: int
    """The file's row where it starts, counted from 0."""
    before: int
    """Rows of the whole source before it."""

    @property
    def size(self) -> int:
        return self.parquet.metadata.row_group(self.number).num_rows

    def rows(self, columns: list[str], max_bytes: int) -> Iterator[Row]:
        """Yield its rows, a batch in memory.

        Raises:
            RunError: the row group is corrupt.
        """
        about = self.parquet.metadata.row_group(self.number)
        per_row = about.total_byte_size // max(1, about.num_rows) + 1
        try:
            for batch in self.parquet.iter_batches(
                batch_size=min(BATCH_ROWS, max(1, BATCH_BYTES // per_row)),
                row_groups=[self.number],
                columns=columns,
                use_threads=False,
            ):
                yield from _rows(batch, max_bytes)
        except (pa.ArrowException, OSError) as error:
            raise RunError(
                f"{self.file.shown} is corrupt in row group {self.number} (rows from "
                f"{self.first}): {error}"
            ) from error


def open_parquet(file: File) -> pq.ParquetFile:
    """Open a file and read its footer.

    Raises:
        ConfigError: it is empty, truncated or not Parquet.
    """
    try:
        return pq.ParquetFile(file.path, buffer_size=1 << 20, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(f"{file.shown} can't be read as Parquet: {error}") from error


def groups(files: list[File]) -> Iterator[Group]:
    """Yield the row groups of all files, one file open at a time."""
    before = 0
    for file in files:
        with open_parquet(file) as parquet:
            first = 0
            for number in range(parquet.num_row_groups):
                group = Group(file, parquet, number, first, before)
                yield group
                first += group.size
                before += group.size


def column_paths(schema: pa.Schema) -> list[str]:
    """Return the path of every column, those of structs too.

    >>> column_paths(pa.schema([("a", pa.struct([("b", pa.int64())]))]))
    ['a', 'a.b']
    """
    return [path for field in schema for path in _paths(field, "")]


def _paths(field: pa.Field, below: str) -> list[str]:
    inner = list(field.type) if pa.types.is_struct(field.type) else []
    deeper = [p for child in inner for p in _paths(child, f"{below}{field.name}.")]
    return [below + field.name, *deeper]


def _rows(batch: pa.RecordBatch, max_bytes: int) -> Iterator[Row]:
    """Yield rows, one by one where one of them may be too large or not UTF-8."""
    if batch.nbytes <= max_bytes:
        try:
            rows = batch.to_pylist()
        except UnicodeDecodeError:
            rows = None
        if rows is not None:
            yield from rows
            return
    for at in range(batch.num_rows):
        one = batch.slice(at, 1)
        if one.nbytes > max_bytes:
            yield DataError("row_too_large", f"{one.nbytes} bytes, max_row_bytes is {max_bytes}")
            continue
        try:
            yield one.to_pylist()[0]
        except UnicodeDecodeError as error:
            yield DataError("bad_encoding", f"byte {error.start} of a cell isn't UTF-8")
