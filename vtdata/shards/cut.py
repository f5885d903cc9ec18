"""Cut: one process reads the ranks' spills, partition by partition, and writes the shard files."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from vtdata.errors import RunError
from vtdata.shards.files import MIB, FileEntry, Limits, ShardFiles, sync_folder
from vtdata.shards.spill import (
    KEY,
    SIDE_SCHEMA,
    SIDE_SPLIT,
    SIZE,
    SpillReader,
    spill_schema,
)
from vtdata.shards.spread import Item, Spread

SPLITS = ("train", "validation")
APPEND_BYTES = 8 * MIB


def cut(
    spills: Sequence[Path],
    folder: Path,
    schema: pa.Schema,
    *,
    seed: int,
    splits: Sequence[str] = SPLITS,
    max_file_bytes: int = 512 * MIB,
    min_file_bytes: int = 256 * MIB,
    row_group_bytes: int = 64 * MIB,
    row_group_rows: int = 2_000,
) -> list[FileEntry]:
    """Write the shard files of one set and return them in the order of their names.

    The bytes depend on the rows, the seed and the limits alone: not on the number of spills or
    partitions, nor on the order in which rows came. The first split gets a file even if it has no
    rows; the side table is ``tests-*.parquet``, where there is one. Holds about six times 64 MB.

    Args:
        spills: closed spills of one set, one or more, all of the same seed and partitions.
        folder: the set's folder; shard files that are there are removed first.
        schema: the rows' columns, with ``id`` and, at the top or in ``extra_info``, ``query_id``.
        seed: of the shuffle.
        splits: the names that ``Spill.add`` was given, the training split first.
        max_file_bytes: no file is larger, as written, unless one row alone is.
        min_file_bytes: no file is smaller, but the last of its split.
        row_group_bytes: uncompressed; a row group is closed before it holds more.
        row_group_rows: the most rows of a row group.

    Raises:
        ConfigError: the sizes leave no room for row groups.
        RunError: a spill is torn or of another shuffle; two rows have the same id.
    """
    limits = Limits(max_file_bytes, min_file_bytes, row_group_bytes, row_group_rows)
    folder.mkdir(parents=True, exist_ok=True)
    _clear(folder, [*splits, SIDE_SPLIT])
    entries: list[FileEntry] = []
    with contextlib.ExitStack() as stack:
        readers = [SpillReader(path) for path in spills]
        for reader in readers:
            stack.callback(reader.close)
        partitions = _agree(readers, spills, seed)
        for split in splits:
            rows = _partitions(readers, split, partitions, schema)
            files = ShardFiles(folder, split, schema, limits)
            entries += _write(rows, files, even_if_empty=split == splits[0])
        side = _partitions(readers, SIDE_SPLIT, partitions, SIDE_SCHEMA)
        files = ShardFiles(folder, SIDE_SPLIT, SIDE_SCHEMA, limits)
        entries += _write(side, files, even_if_empty=False)
    sync_folder(folder)
    return entries


def _clear(folder: Path, splits: Sequence[str]) -> None:
    for split in splits:
        for pattern in (f"{split}-*-of-*.parquet", f".{split}-*.parquet.tmp"):
            for path in folder.glob(pattern):
                path.unlink()


def _agree(readers: Sequence[SpillReader], spills: Sequence[Path], seed: int) -> int:
    """Return the number of partitions."""
    for reader, path in zip(readers, spills, strict=True):
        if reader.seed != seed or reader.partitions != readers[0].partitions:
            raise RunError(
                f"spill {path.name} has seed {reader.seed} and {reader.partitions} partitions, "
                f"asked were seed {seed} and {readers[0].partitions}: delete the spills and run "
                "again"
            )
    return readers[0].partitions if readers else 1


def _partitions(
    readers: Sequence[SpillReader], split: str, partitions: int, schema: pa.Schema
) -> Iterator[pa.Table]:
    """Yield each partition that has rows, sorted by (key, id)."""
    for partition in range(partitions):
        batches = [b for reader in readers for b in reader.read(split, partition, schema)]
        if batches:
            table = pa.Table.from_batches(batches, spill_schema(schema)).combine_chunks()
            del batches
            order = _order(table, split)
            table = table.take(order)  # the unsorted one goes before the next is asked for
            yield table
            del table


def _order(table: pa.Table, split: str) -> pa.Array:
    keys = table.column(KEY).to_numpy()
    ids = table.column("sha256" if split == SIDE_SPLIT else "id").to_pylist()
    order = sorted(range(len(ids)), key=lambda at: (keys[at], ids[at]))
    return pa.array(_without_doubles(order, ids, split), pa.int64())


def _without_doubles(order: list[int], ids: list[str], split: str) -> list[int]:
    """Keep one of each text of the side table; elsewhere the same id twice is an error."""
    kept = order[:1]
    for at in order[1:]:
        if ids[at] != ids[kept[-1]]:
            kept.append(at)
        elif split != SIDE_SPLIT:
            raise RunError(
                f"split {split} has two rows with id '{ids[at]}': ids must be unique in a set"
            )
    return kept


def _write(
    partitions: Iterator[pa.Table], files: ShardFiles, *, even_if_empty: bool
) -> list[FileEntry]:
    spread, waiting = Spread(), None
    try:
        for table in partitions:
            joined = _join(spread, waiting, table)
            del table, waiting
            _append(files, joined, spread.ready())
            waiting = joined.take(pa.array(spread.carry(), pa.int64()))
            del joined  # and with it a partition, before the next is read
            pa.default_memory_pool().release_unused()
        if waiting is not None:
            _append(files, waiting, spread.finish())
        return files.close(even_if_empty=even_if_empty)
    except BaseException:
        files.abandon()
        raise


def _join(spread: Spread, waiting: pa.Table | None, table: pa.Table) -> pa.Table:
    """Push a partition's rows; return the rows that have no final place yet, then these."""
    start = waiting.num_rows if waiting else 0
    for index, (query, size) in enumerate(_owners(table), start):
        spread.push(Item(query, size, index))
    return pa.concat_tables([waiting, table]).combine_chunks() if waiting else table


def _owners(table: pa.Table) -> Iterator[tuple[str, int]]:
    """Yield whose each row is, and its size; without ``query_id``, a row is its own query."""
    first = next(name for name in ("query_id", "id", "sha256") if name in table.column_names)
    return zip(table.column(first).to_pylist(), table.column(SIZE).to_pylist(), strict=True)


def _append(files: ShardFiles, table: pa.Table, items: Iterable[Item]) -> None:
    """Hand rows on, some megabytes at a time: what waits in the writer then holds little else."""
    chosen: list[Item] = []
    held_bytes = 0
    for item in itertools.chain(items, [None]):
        if chosen and (item is None or held_bytes + item.size > APPEND_BYTES):
            places = pa.array([one.index for one in chosen], pa.int64())
            rows = table.take(places).drop_columns([KEY, SIZE])
            files.add(rows, [one.size for one in chosen])
            chosen, held_bytes = [], 0
        if item is not None:
            chosen.append(item)
            held_bytes += item.size
