"""Parquet files: only the leaves that are scanned are decoded, a batch at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.decontam.inputs.fields import choose
from vtdata.decontam.inputs.pieces import Batch, Field
from vtdata.decontam.inputs.rowdates import FACTS
from vtdata.decontam.inputs.shard import BATCH_BYTES, UNIT_BYTES, Unit
from vtdata.decontam.inputs.walk import ROLES, is_list, plain, walk
from vtdata.errors import ConfigError, RunError

ID = "id"


@dataclass(frozen=True, slots=True)
class ParquetShard:
    """A Parquet file."""

    path: Path
    file: str
    fields: tuple[Field, ...]

    def digest(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def units(self) -> list[Unit]:
        with open_parquet(self.path, self.file) as parquet:
            metadata = parquet.metadata
            columns = _columns(parquet, self.fields)
            units, first, row, size, rows = [], 0, 0, 0, 0
            for group in range(metadata.num_row_groups):
                about = metadata.row_group(group)
                size += sum(about.column(c).total_uncompressed_size for c in columns)
                rows += about.num_rows
                if size >= UNIT_BYTES or group == metadata.num_row_groups - 1:
                    units.append(Unit(len(units), first, group + 1, row, size))
                    first, row, size, rows = group + 1, row + rows, 0, 0
            return units

    def batches(self, unit: Unit, fields: Sequence[Field]) -> Iterator[Batch]:
        with open_parquet(self.path, self.file) as parquet:
            columns = _columns(parquet, fields)
            row = unit.row
            try:
                for group in range(unit.first, unit.stop):
                    about = parquet.metadata.row_group(group)
                    size = sum(about.column(c).total_uncompressed_size for c in columns)
                    per_row = size // max(1, about.num_rows) + 1
                    for batch in parquet.iter_batches(
                        batch_size=max(1, BATCH_BYTES // per_row),
                        row_groups=[group],
                        columns=[parquet.metadata.schema.column(c).path for c in columns],
                        use_threads=False,
                    ):
                        yield batch_of(batch, fields, row)
                        row += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                raise RunError(
                    f"{self.file} is corrupt in row group {group} (read up to row {row}): {error}; "
                    "fetch or write it again"
                ) from error


def parquet_shard(path: Path, file: str, asked: Sequence[str]) -> ParquetShard:
    """Open a file's footer and choose its columns.

    Raises:
        ConfigError: it is no Parquet, or has nothing to scan.
    """
    with open_parquet(path, file) as parquet:
        return ParquetShard(path, file, choose(parquet.schema_arrow, asked, file))


def open_parquet(path: Path, shown: str) -> pq.ParquetFile:
    """Open a file for reading in bounded memory.

    Raises:
        ConfigError: it is empty, truncated or not Parquet.
    """
    try:
        return pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(f"{shown} can't be read as Parquet: {error}") from error


def batch_of(batch: pa.RecordBatch, fields: Sequence[Field], row: int) -> Batch:
    """Take the texts of these columns from a record batch whose first row is ``row``."""
    rows = np.arange(row, row + batch.num_rows, dtype=np.int64)
    return arrow_batch(batch, fields, rows)


def arrow_batch(batch: pa.RecordBatch, fields: Sequence[Field], rows: np.ndarray) -> Batch:
    """Take the texts of these columns from a record batch with these row numbers."""
    pieces, nulls = [], 0
    for field in fields:
        if field.path.split(".")[0] in batch.schema.names:
            found, missing = walk(batch, field, rows)
            pieces += found
            nulls += missing
    names = batch.schema.names
    tops = {fact.split(".")[0] for fact in FACTS} & set(names)
    ids = batch.column(ID) if ID in names else None
    return Batch(
        rows=rows,
        pieces=tuple(pieces),
        ids=None if ids is None or pa.types.is_nested(ids.type) else plain(ids),
        facts=batch.select(sorted(tops)) if tops & {"date", "provenance"} else None,
        null_texts=nulls,
    )


def needed(fields: Sequence[Field], schema: pa.Schema) -> set[str]:
    """Return the dotted paths of the leaves to decode: texts, who speaks, ids and dates."""
    wanted = {field.path for field in fields} | {ID, *FACTS}
    for field in fields:
        words = field.path.split(".")
        wanted |= {".".join([*words[:at], role]) for at in range(1, len(words)) for role in ROLES}
    return wanted & set(leaf_paths(schema))


def leaf_paths(schema: pa.Schema) -> list[str]:
    """Return the path of every leaf, in the order in which Parquet stores them.

    >>> leaf_paths(pa.schema([("a", pa.list_(pa.struct([("b", pa.int8()), ("c", pa.int8())])))]))
    ['a.b', 'a.c']
    """
    return [path for field in schema for path in _leaf_paths(field.type, field.name)]


def _leaf_paths(kind: pa.DataType, path: str) -> Iterator[str]:
    if pa.types.is_map(kind):
        yield from _leaf_paths(kind.key_type, f"{path}.key")
        yield from _leaf_paths(kind.item_type, f"{path}.value")
    elif is_list(kind):
        yield from _leaf_paths(kind.value_type, path)
    elif pa.types.is_struct(kind):
        for child in kind:
            yield from _leaf_paths(child.type, f"{path}.{child.name}")
    else:
        yield path


def _columns(parquet: pq.ParquetFile, fields: Sequence[Field]) -> list[int]:
    """Numbers of the columns to decode."""
    paths = leaf_paths(parquet.schema_arrow)
    wanted = needed(fields, parquet.schema_arrow)
    if len(paths) == parquet.metadata.num_columns:
        return [at for at, path in enumerate(paths) if path in wanted]
    tops = {path.split(".")[0] for path in wanted}  # a type of which Parquet makes other leaves
    return [
        at
        for at in range(parquet.metadata.num_columns)
        if parquet.metadata.schema.column(at).path.split(".")[0] in tops
    ]
