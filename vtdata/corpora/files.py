"""Seeds from files: JSON lines, CSV and Parquet.

Rows are split over the ranks, and what is produced depends neither on the rank nor on the world:
an origin is file and row, an id is the question.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from vtdata.corpora.columns import all_paths, require, top_level
from vtdata.corpora.lines import Line, lines_of, open_bytes, records_of
from vtdata.corpora.parquet import column_paths, groups, open_parquet
from vtdata.corpora.paths import File, find, source_name
from vtdata.corpora.rows import ROW_REASONS, Mapped
from vtdata.corpora.values import parse_json, shown
from vtdata.errors import ConfigError, DataError
from vtdata.records import Query
from vtdata.steps import Context, step

HEAD_ROWS = 1000
"""Rows of a JSONL file that are looked at to find its columns (ours)."""
HEAD_BYTES = 16 << 20
"""Bytes of a JSONL file that are looked at to find its columns (ours)."""


@dataclass(frozen=True, slots=True)
class _Place:
    file: File
    line: Line

    def __str__(self) -> str:
        return f"{self.file.shown}:{self.line.number}"


@step
class Jsonl(Mapped):
    """Read questions from JSON lines, plain, ``.gz`` or ``.zst``.

    One line in memory. Origins are ``file:line``, lines counted from 1. Rank r of w takes every
    w-th row, blank lines not counted.

    Drops: as ``Mapped``, and ``bad_json`` (a truncated line, NaN, not an object).

    Raises:
        ConfigError: a file is not there, empty or not JSONL, or lacks a mapped column.
        RunError: a file is corrupt.
    """

    path: str | list[str]
    """File, pattern or list of these, relative to the recipe."""

    label: ClassVar[str] = "jsonl"
    reasons: ClassVar[tuple[str, ...]] = (*ROW_REASONS, "bad_json")

    def files(self, folder: Path) -> list[Path]:
        return [file.path for file in find(self.path, folder)]

    def open(self, ctx: Context) -> None:
        files = find(self.path, ctx.folder)
        source_name(files, self.source)
        for file in files:
            self._check_head(file)

    def read(self, ctx: Context) -> Iterator[Query]:
        files = find(self.path, ctx.folder)
        source = source_name(files, self.source)
        places = (p for file in files for p in self._places(file))
        for place in islice(places, ctx.rank, ctx.limit, ctx.world):
            try:
                row = self._row(place.line)
            except DataError as error:
                yield self.reject(source, str(place), error.reason, error.detail)
            else:
                yield self.query_of(row, source, str(place))

    def _places(self, file: File) -> Iterator[_Place]:
        with open_bytes(file.path, file.shown) as stream:
            for line in lines_of(stream, self.max_row_bytes, file.shown):
                yield _Place(file, line)

    def _check_head(self, file: File) -> None:
        seen: set[str] = set()
        num_rows, num_bytes, problem = 0, 0, ""
        for place in islice(self._places(file), HEAD_ROWS):
            num_rows += 1
            num_bytes += len(place.line.data or b"")
            try:
                seen |= all_paths(self._row(place.line))
            except DataError as error:
                problem = problem or f"line {place.line.number}: {error}"
            if num_bytes > HEAD_BYTES:
                break
        if num_rows == 0:
            raise ConfigError(f"{file.shown} is empty; a source needs at least one row")
        if not seen and problem:
            raise ConfigError(
                f"{file.shown} has no JSON object in its first {num_rows} lines ({problem}); "
                "JSONL has one object per line"
            )
        hint = f" in its first {num_rows} rows; write 'NAME?' for what only some rows have"
        require(self.columns, seen, file.shown, hint)

    def _row(self, line: Line) -> dict[str, Any]:
        text = _decoded(line, self.max_row_bytes)
        try:
            row = parse_json(text)
        except (ValueError, RecursionError) as error:
            raise DataError("bad_json", f"{error}; it ends {text[-60:].rstrip()!r}") from error
        if not isinstance(row, dict):
            raise DataError("bad_json", f"the line is {shown(row)}, need an object")
        return row


@step
class Csv(Mapped):
    """Read questions from CSV with a header, plain, ``.gz`` or ``.zst``.

    One record in memory. Quotes as in RFC 4180, so a quoted cell may span lines. An empty cell is
    null; nested columns hold JSON. Origins are ``file:line``, the line where the record starts.

    Drops: as ``Mapped``, and ``bad_csv`` (a quote that is never closed, other cells than columns).

    Raises:
        ConfigError: a file is not there or empty, or lacks a mapped column or has it twice.
        RunError: a file is corrupt.
    """

    path: str | list[str]
    """File, pattern or list of these, relative to the recipe."""
    delimiter: str = ","
    """One character between cells."""

    label: ClassVar[str] = "csv"
    reasons: ClassVar[tuple[str, ...]] = (*ROW_REASONS, "bad_csv")

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1:
            raise ConfigError(f"delimiter must be one character, got {self.delimiter!r}")
        super().__post_init__()

    def files(self, folder: Path) -> list[Path]:
        return [file.path for file in find(self.path, folder)]

    def open(self, ctx: Context) -> None:
        files = find(self.path, ctx.folder)
        source_name(files, self.source)
        for file in files:
            places = self._places(file)
            header = self._header(next(places, None), file)
            if next(places, None) is None:
                raise ConfigError(f"{file.shown} has a header and no rows")
            require(self.columns, header, file.shown)
            for name in top_level(self.columns, header):
                if header.count(name) > 1:
                    raise ConfigError(
                        f"{file.shown} has column '{name}' {header.count(name)} times"
                    )

    def read(self, ctx: Context) -> Iterator[Query]:
        files = find(self.path, ctx.folder)
        source = source_name(files, self.source)
        rows = ((place, header) for file in files for place, header in self._rows(file))
        for place, header in islice(rows, ctx.rank, ctx.limit, ctx.world):
            try:
                cells = self._cells(place.line)
                if len(cells) != len(header):
                    raise DataError(
                        "bad_csv", f"{len(cells)} cells, the header has {len(header)} columns"
                    )
            except DataError as error:
                yield self.reject(source, str(place), error.reason, error.detail)
            else:
                row = {name: cell or None for name, cell in zip(header, cells, strict=True)}
                yield self.query_of(row, source, str(place))

    def _rows(self, file: File) -> Iterator[tuple[_Place, list[str]]]:
        places = self._places(file)
        header = self._header(next(places, None), file)
        for place in places:
            yield place, header

    def _places(self, file: File) -> Iterator[_Place]:
        with open_bytes(file.path, file.shown) as stream:
            for line in records_of(stream, self.max_row_bytes, file.shown):
                yield _Place(file, line)

    def _header(self, place: _Place | None, file: File) -> list[str]:
        if place is None:
            raise ConfigError(f"{file.shown} is empty; a source needs a header and rows")
        try:
            return self._cells(place.line)
        except DataError as error:
            raise ConfigError(f"{file.shown} has no readable header: {error}") from error

    def _cells(self, line: Line) -> list[str]:
        text = _decoded(line, self.max_row_bytes)
        # The limit belongs to the process, and its default of 128 KiB is below ours.
        csv.field_size_limit(max(csv.field_size_limit(), self.max_row_bytes))
        try:
            return next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            last = line.number + text.rstrip("\n").count("\n")
            raise DataError("bad_csv", f"lines {line.number} to {last}: {error}") from error


def _decoded(line: Line, max_bytes: int) -> str:
    if line.data is None:
        raise DataError("row_too_large", f"{line.size} bytes, max_row_bytes is {max_bytes}")
    try:
        return line.data.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            "bad_encoding", f"byte {error.start} is {line.data[error.start]:#04x}, not UTF-8"
        ) from error


@step
class Parquet(Mapped):
    """Read questions from Parquet.

    Only the mapped columns are read, about 16 MiB at a time. Origins are ``file:row``, rows
    counted from 0. Rank r of w takes every w-th row group.

    Drops: as ``Mapped``.

    Raises:
        ConfigError: a file is not there, empty or not Parquet, or lacks a mapped column.
        RunError: a row group is corrupt.
    """

    path: str | list[str]
    """File, pattern or list of these, relative to the recipe."""

    label: ClassVar[str] = "parquet"
    reasons: ClassVar[tuple[str, ...]] = ROW_REASONS

    def files(self, folder: Path) -> list[Path]:
        return [file.path for file in find(self.path, folder)]

    def open(self, ctx: Context) -> None:
        files = find(self.path, ctx.folder)
        source_name(files, self.source)
        for file in files:
            with open_parquet(file) as parquet:
                if parquet.metadata.num_rows == 0:
                    raise ConfigError(f"{file.shown} is empty; a source needs at least one row")
                require(self.columns, column_paths(parquet.schema_arrow), file.shown)

    def read(self, ctx: Context) -> Iterator[Query]:
        files = find(self.path, ctx.folder)
        source = source_name(files, self.source)
        for group in islice(groups(files), ctx.rank, None, ctx.world):
            left = None if ctx.limit is None else max(0, ctx.limit - group.before)
            if left == 0:
                return
            columns = top_level(self.columns, group.parquet.schema_arrow.names)
            rows = group.rows(columns, self.max_row_bytes)
            for at, row in islice(enumerate(rows, group.first), left):
                where = f"{group.file.shown}:{at}"
                if isinstance(row, DataError):
                    yield self.reject(source, where, row.reason, row.detail)
                else:
                    yield self.query_of(row, source, where)
