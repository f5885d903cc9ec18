"""The tables that steps log into with ``ctx.log``: for people to read, beside the queries.

A rank writes sorted runs into its work folder. Once every rank is done, they are merged into
``tables/NAME/part-*.parquet`` of the block, which its manifest lists. Rows are ordered by their own
columns, first to last, and not by who logged them when: so the merged files are the same bytes
whatever the number of ranks and workers.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.errors import RunError
from vtdata.recipe.plan import PlannedStep
from vtdata.records.parts import PART_BYTES, HashingFile, parquet_writer
from vtdata.text import nearest

HELD_BYTES = 8 * 2**20
"""A rank holds at most this much of a table, and a row group is as large (ours)."""
GROUP_ROWS = 2_000
READ_ROWS = 256
"""Rows of each run that a merge holds (ours)."""
FOLDER = "tables"
STEP = "step"
"""The last column of every table: which step logged the row."""

Row = dict[str, Any]
Cells = tuple[Any, ...]
"""A row's values in the order of its columns."""
_PLAIN: dict[pa.DataType, type] = {pa.bool_(): bool, pa.float64(): float, pa.string(): str}
"""Types of which every value of a Python type fits; others are tried."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file of a table, as a manifest lists it; ``file`` is below the block's folder."""

    file: str
    rows: int
    bytes: int
    sha256: str


def table_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the files: what the step declared, then which step it was."""
    return schema.append(pa.field(STEP, pa.string()))


def declared(steps: Iterable[PlannedStep]) -> dict[str, pa.Schema]:
    """Return the tables that steps log into, by name, with the schema of their files."""
    tables = {name: schema for planned in steps for name, schema in planned.step.tables.items()}
    return {name: table_schema(schema) for name, schema in sorted(tables.items())}


class Tables:
    """What the steps of one rank log; async steps do so from the event loop's thread.

    Holds at most ``HELD_BYTES`` per table.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._held: dict[str, list[Cells]] = {}
        self._bytes: dict[str, int] = {}
        self._runs: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def logger(self, planned: PlannedStep) -> Callable[[str, Row], None]:
        """Return what a step's context has as ``log``."""
        forms = {name: _Form(planned.name, name, s) for name, s in planned.step.tables.items()}

        def log(table: str, row: Row) -> None:
            if table not in forms:
                raise RunError(
                    f"step '{planned.name}' logs into table '{table}' and does not declare it: "
                    f"add it to 'tables' of {planned.target}"
                )
            form = forms[table]
            self._add(table, form.schema, form.cells(row))

        return log

    def _add(self, table: str, schema: pa.Schema, cells: Cells) -> None:
        with self._lock:
            self._held.setdefault(table, []).append(cells)
            size = self._bytes.get(table, 0) + _size(cells)
            self._bytes[table] = size
            if size > HELD_BYTES:
                self._flush(table, schema)

    def _flush(self, table: str, schema: pa.Schema) -> None:
        rows, self._held[table], self._bytes[table] = self._held[table], [], 0
        rows.sort(key=_order)
        runs = self._runs.setdefault(table, [])
        path = self._folder / f"table-{self._rank:05d}-{table}-{len(runs):05d}.parquet"
        with _Writing(path, schema) as out:
            for group in _groups(rows):
                out.write(group)
            out.finish(self._folder)
        runs.append(path.name)

    def close(self, steps: Iterable[PlannedStep]) -> dict[str, list[str]]:
        """Write what is held and return, by table, the names of the sorted runs."""
        schemas = declared(steps)
        for table, rows in self._held.items():
            if rows:
                self._flush(table, schemas[table])
        return self._runs


class _Form:
    """Checks the rows of one table that one step logs, and signs them."""

    def __init__(self, step: str, table: str, schema: pa.Schema) -> None:
        self.schema = table_schema(schema)
        self._step, self._table = step, table
        self._columns = [(field.name, field.type, _PLAIN.get(field.type)) for field in schema]
        self._names = frozenset(schema.names)

    def cells(self, row: Row) -> Cells:
        """The row in the order of the columns, each of its type."""
        if not self._names.issuperset(row):
            names = [name for name, _, _ in self._columns]
            unknown = next(name for name in row if name not in self._names)
            raise RunError(
                f"step '{self._step}' logs '{unknown}' into table '{self._table}', which has no "
                f"such column;{nearest(unknown, names)} there is: {', '.join(names)}"
            )
        cells = []
        for name, kind, plain in self._columns:
            value = row.get(name)
            if value is not None and (type(value) is not plain or plain is str):
                value = self._converted(name, kind, value)
            cells.append(value)
        return (*cells, self._step)

    def _converted(self, name: str, kind: pa.DataType, value: Any) -> Any:
        try:
            if type(value) is str and kind == pa.string():
                value.encode()  # half of a surrogate pair is no text that a file can hold
                return value
            converted = pa.scalar(value, kind).as_py()
        except (ValueError, TypeError, OverflowError) as error:
            raise self._misfit(name, kind, value) from error
        if converted != value:  # pyarrow makes 1.5 the integer 1
            raise self._misfit(name, kind, value)
        return converted

    def _misfit(self, name: str, kind: pa.DataType, value: Any) -> RunError:
        return RunError(
            f"step '{self._step}', table '{self._table}': column '{name}' is {kind} and can't "
            f"hold {value!r:.80}"
        )


def merge(
    block_folder: Path, runs: Mapping[str, Sequence[Path]], schemas: Mapping[str, pa.Schema]
) -> dict[str, list[TableFile]]:
    """Merge sorted runs into the files of a finished block, and return what was written.

    A table without a row has no file. Memory: ``READ_ROWS`` of every run, and one row group.
    """
    found: dict[str, list[TableFile]] = {}
    for name, schema in schemas.items():
        folder = block_folder / FOLDER / name
        with ExitStack() as stack:
            streams = [_cells(stack.enter_context(_opened(path))) for path in runs.get(name, ())]
            rows = heapq.merge(*streams, key=_order)
            found[name] = list(_written(block_folder, folder, schema, rows))
    return found


def read_table(block_folder: Path, files: Iterable[TableFile]) -> Iterator[Row]:
    """Yield the rows of a finished block's table in their order.

    Raises:
        RunError: a file is not there or has another size than listed.
    """
    for entry in files:
        path = block_folder / entry.file
        if not path.exists() or path.stat().st_size != entry.bytes:
            raise RunError(
                f"table {path} should have {entry.bytes} bytes and is gone or changed: delete the "
                f"folder {block_folder.name} and run again"
            )
        with _opened(path) as file:
            for batch in file.iter_batches(batch_size=READ_ROWS):
                yield from batch.to_pylist()


def _opened(path: Path) -> pq.ParquetFile:
    return pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)


def _cells(file: pq.ParquetFile) -> Iterator[Cells]:
    for batch in file.iter_batches(batch_size=READ_ROWS):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _written(
    block_folder: Path, folder: Path, schema: pa.Schema, rows: Iterable[Cells]
) -> Iterator[TableFile]:
    groups = _groups(rows)
    group = next(groups, None)
    number = 0
    while group:
        folder.mkdir(parents=True, exist_ok=True)
        with _Writing(folder / f"part-{number:05d}.parquet", schema) as out:
            while group and out.size <= PART_BYTES:
                out.write(group)
                group = next(groups, None)
            yield out.finish(block_folder)
        number += 1


def _groups(rows: Iterable[Cells]) -> Iterator[list[Cells]]:
    """Row groups: of ``GROUP_ROWS`` rows or ``HELD_BYTES``, whichever is reached first."""
    group: list[Cells] = []
    size = 0
    for row in rows:
        group.append(row)
        size += _size(row)
        if size > HELD_BYTES or len(group) == GROUP_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


class _Writing:
    """A file under its temporary name, which goes if it isn't finished."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._temporary = path.with_suffix(".parquet.tmp")
        self._sink = HashingFile(self._temporary)
        self._writer = parquet_writer(self._sink, schema)
        self._rows = 0

    def __enter__(self) -> _Writing:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._sink.closed:
            self._sink.abandon()  # first, so that closing the writer needs no room on a full disk
            self._writer.close()
            self._temporary.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._sink.size

    def write(self, rows: list[Cells]) -> None:
        columns = zip(*rows, strict=True)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows += len(rows)

    def finish(self, below: Path) -> TableFile:
        self._writer.close()
        self._sink.close()
        self._temporary.rename(self._path)
        name = self._path.relative_to(below).as_posix()
        return TableFile(name, self._rows, self._sink.size, self._sink.hexdigest())


def _order(cells: Cells) -> list[tuple[bool, Any]]:
    """Column by column, nulls first."""
    return [(cell is not None, cell) for cell in cells]


def _size(cells: Cells) -> int:
    """About the bytes that a row takes in memory."""
    return 100 + sum(56 + len(cell) if isinstance(cell, str) else 16 for cell in cells)
