"""A Parquet file without some of its rows; rollouts that leave are marked and stay."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.decontam.hits import Drops
from vtdata.decontam.inputs.hub import HubShard
from vtdata.decontam.inputs.parquet import ParquetShard, open_parquet
from vtdata.decontam.inputs.walk import ROLLOUTS
from vtdata.decontam.report.write import replacing

REASON = "decontam_reason"
"""The column that a file of removed rows has beyond the corpus's."""
STEP = "decontam"
"""What ``dropped_by`` says of a rollout."""
GROUP_BYTES = 64 * 2**20
"""A row group above so many bytes is written as several (ours), as it is not held whole."""


@dataclass(frozen=True, slots=True)
class Split:
    """What became of a file's rows."""

    rows_in: int
    kept: int
    removed: int
    rollouts_dropped: int


def copied(source: Path, target: Path, rows: int) -> Split:
    """Copy a file of which nothing is dropped, byte for byte."""
    with source.open("rb") as read, replacing(target) as write:
        shutil.copyfileobj(read, write, 1 << 20)
    return Split(rows, rows, 0, 0)


def split_parquet(shard: ParquetShard, drops: Drops, target: Path, removed: Path) -> Split:
    """Write the rows that stay and those that leave; row groups end where they did."""
    with open_parquet(shard.path, shard.file) as parquet:
        if not drops.rows and not drops.rollouts:
            return copied(shard.path, target, parquet.metadata.num_rows)
        codec = parquet.metadata.row_group(0).column(0).compression.lower()
        codec = "none" if codec == "uncompressed" else codec
        return _split(_groups(parquet), parquet.schema_arrow, drops, target, removed, codec)


def split_hub(shard: HubShard, drops: Drops, target: Path, removed: Path) -> Split:
    """Write a Hub file's rows as Parquet, those that stay and those that leave."""
    return _split(shard.tables(), shard.schema, drops, target, removed, "zstd")


def _groups(parquet: pq.ParquetFile) -> Iterator[pa.Table]:
    for group in range(parquet.num_row_groups):
        about = parquet.metadata.row_group(group)
        pieces = max(1, -(-about.total_byte_size // GROUP_BYTES))
        size = max(1, -(-about.num_rows // pieces))
        for batch in parquet.iter_batches(size, row_groups=[group], use_threads=False):
            yield pa.Table.from_batches([batch])


def _split(
    groups: Iterator[pa.Table],
    schema: pa.Schema,
    drops: Drops,
    target: Path,
    removed: Path,
    codec: str,
) -> Split:
    markable = _markable(schema)
    reasons = dict(drops.rows)
    if not markable:
        for row, found in drops.rollouts.items():
            reasons.setdefault(row, next(iter(found.values())))
    first = gone = num_marked = 0
    with ExitStack() as stack:
        keep = stack.enter_context(_writer(target, schema, codec))
        leave: pq.ParquetWriter | None = None
        for table in groups:
            rows = range(first, first + table.num_rows)
            leaving = [row for row in rows if row in reasons] if reasons else []
            if leaving:
                if leave is None:
                    removed.parent.mkdir(parents=True, exist_ok=True)
                    wider = schema.append(pa.field(REASON, pa.string()))
                    leave = stack.enter_context(_writer(removed, wider, codec))
                _write(leave, _removed(table, leaving, first, reasons))
            staying = [row - first for row in rows if row not in reasons]
            marks = {
                (row - first, at): reason
                for row in rows
                if markable and row in drops.rollouts and row not in reasons
                for at, reason in drops.rollouts[row].items()
            }
            _write(keep, _rows(_marked(table, marks), staying))
            num_marked += len(marks)
            first, gone = first + table.num_rows, gone + len(leaving)
    return Split(first, first - gone, gone, num_marked)


def _rows(table: pa.Table, wanted: list[int]) -> pa.Table:
    """Some rows of a table, in order; Arrow can't take or filter every type, but slice it."""
    places = np.array(wanted, dtype=np.int64)
    runs = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
    slices = [table.slice(int(run[0]), len(run)) for run in runs if len(run)]
    return pa.concat_tables([table.slice(0, 0), *slices])


def _removed(
    table: pa.Table, leaving: list[int], first: int, reasons: Mapping[int, str]
) -> pa.Table:
    rows = _rows(table, [row - first for row in leaving])
    return rows.append_column(REASON, pa.array([reasons[row] for row in leaving], pa.string()))


def _write(writer: pq.ParquetWriter, table: pa.Table) -> None:
    if table.num_rows:  # readers choke on a row group of no rows
        writer.write_table(table.cast(writer.schema), row_group_size=table.num_rows)


@contextmanager
def _writer(path: Path, schema: pa.Schema, codec: str) -> Generator[pq.ParquetWriter, None, None]:
    """Open a Parquet file under a temporary name and rename it when all is written."""
    with (
        replacing(path) as file,
        pq.ParquetWriter(file, schema, compression=codec, write_page_index=True) as writer,
    ):
        yield writer


def _markable(schema: pa.Schema) -> bool:
    """Whether rollouts are our own records, which say themselves that they were dropped."""
    if ROLLOUTS not in schema.names or not pa.types.is_list(schema.field(ROLLOUTS).type):
        return False
    inner = schema.field(ROLLOUTS).type.value_type
    names = {field.name for field in inner} if pa.types.is_struct(inner) else set()
    return set(_MARKS) <= names


_MARKS = ("dropped_by", "drop_reason")


def _marked(table: pa.Table, marks: Mapping[tuple[int, int], str]) -> pa.Table:
    """Sign rollouts as dropped; what was dropped before keeps its first reason."""
    if not marks:
        return table
    lists = table.column(ROLLOUTS).combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    offsets = lists.offsets.to_numpy()
    base = int(offsets[0])
    structs = lists.values.slice(base, int(offsets[-1]) - base)
    children = dict(zip((f.name for f in structs.type), structs.flatten(), strict=True))
    by, why = (children[name].to_pylist() for name in _MARKS)
    for (row, at), reason in marks.items():
        place = int(offsets[row]) - base + at
        if by[place] is None:
            by[place], why[place] = STEP, f"contaminated_{reason.partition(':')[0]}"
    for name, values in zip(_MARKS, (by, why), strict=True):
        children[name] = pa.array(values, children[name].type)
    fields = list(structs.type)
    made = pa.StructArray.from_arrays(
        [children[f.name] for f in fields], fields=fields, mask=structs.is_null()
    )
    mask = lists.is_null() if lists.null_count else None
    whole = pa.ListArray.from_arrays(
        pa.array(offsets - base, pa.int32()), made, type=lists.type, mask=mask
    )
    at = table.schema.get_field_index(ROLLOUTS)
    return table.set_column(at, table.schema.field(at), whole)
