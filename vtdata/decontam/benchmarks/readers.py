"""Rows of a benchmark's file, whatever its format, one in memory; and the file's hash."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from vtdata.errors import ConfigError
from vtdata.text import nearest

Row = dict[str, Any]

HEAD_ROWS = 1000
"""Most rows that are looked at to find the columns of a file that doesn't list them (ours)."""
HEAD_CHARS = 16 << 20
"""Most text that is looked at for that: some benchmarks have megabytes of tests a row (ours)."""

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_BATCH_ROWS = 64
_MOST_CELL = 1 << 30


def ending(path: Path) -> str:
    """Return the ending that says a file's format: its last but for compression.

    >>> ending(Path("a/gsm.test.jsonl.gz"))
    '.jsonl'
    """
    return Path(path.stem).suffix.lower() if path.suffix in _COMPRESSIONS else path.suffix.lower()


def stem(path: Path) -> str:
    """Return a file's name without its endings.

    >>> stem(Path("a/gsm.test.jsonl.gz"))
    'gsm.test'
    """
    return Path(path.stem).stem if path.suffix in _COMPRESSIONS else path.stem


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def rows_of(path: Path, columns: list[str] | None = None) -> Iterator[Row]:
    """Yield a file's rows: JSONL, JSON, CSV, TSV, Parquet, or text with an item a line.

    All but Parquet may end in ``.gz`` or ``.zst``. A line of text is a row with the column
    ``text``. Blank lines of JSONL and CSV are no rows.

    Args:
        path: the file.
        columns: read no others, where the format allows it.

    Raises:
        ConfigError: the format isn't known, or the file isn't there, corrupt or not what its
            ending says; with the line.
    """
    reader = _READERS.get(ending(path))
    if reader is None:
        hint = nearest(ending(path), _READERS)
        raise ConfigError(
            f"{path.name}: format '{ending(path) or 'none'}' is not known;{hint} "
            f"known are {', '.join(_READERS)}, and .gz and .zst of all but Parquet"
        )
    try:
        yield from reader(path, columns)
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path.name} isn't UTF-8 (byte {error.object[error.start]:#x}); convert it"
        ) from error
    except (OSError, EOFError, pa.ArrowException) as error:
        raise ConfigError(f"{path.name} can't be read: {error}") from error


def columns_of(path: Path) -> list[str]:
    """Return a file's columns in the order in which its first rows have them.

    Raises:
        ConfigError: as ``rows_of``.
    """
    names: dict[str, None] = {}
    num_chars = 0
    for row in islice(rows_of(path), HEAD_ROWS):
        names.update(dict.fromkeys(row))
        num_chars += sum(len(cell) for cell in row.values() if isinstance(cell, str))
        if num_chars > HEAD_CHARS:
            break
    return list(names)


def _open(path: Path) -> BinaryIO:
    kind = _COMPRESSIONS.get(path.suffix)
    raw = pa.OSFile(str(path))
    native = pa.CompressedInputStream(raw, kind) if kind else raw
    return io.BufferedReader(cast("io.RawIOBase", native), 1 << 20)


def _open_text(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(_open(path), encoding="utf-8-sig", newline="")


def _jsonl(path: Path, _columns: list[str] | None) -> Iterator[Row]:
    with _open(path) as stream:
        for number, line in enumerate(stream, 1):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            if text:
                yield _object(text, f"{path.name}:{number}")


def _object(text: str, where: str) -> Row:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is no JSON: {error}") from error
    if not isinstance(row, dict):
        raise ConfigError(f"{where} is a JSON {type(row).__name__}; need an object a line")
    return row


def _json(path: Path, columns: list[str] | None) -> Iterator[Row]:
    with _open_text(path) as stream:
        text = stream.read()
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":  # many a .json is JSONL
            yield from _jsonl(path, columns)
            return
        raise ConfigError(f"{path.name} is no JSON: {error}") from error
    lists = [data] if isinstance(data, list) else []
    if isinstance(data, dict):
        lists = [v for v in data.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
    if len(lists) != 1 or not all(isinstance(row, dict) for row in lists[0]):
        raise ConfigError(
            f"{path.name} is neither a list of objects nor an object with one such list in it"
        )
    yield from lists[0]


def _separated(path: Path, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(_MOST_CELL)
    with _open_text(path) as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            if len(set(header)) < len(header):
                raise ConfigError(f"{path.name} has a column twice in {', '.join(header)}")
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise ConfigError(
                        f"{path.name}:{reader.line_num} has {len(cells)} cells, the header "
                        f"{len(header)}"
                    )
                yield dict(zip(header, cells, strict=True))
        except csv.Error as error:
            raise ConfigError(f"{path.name}:{reader.line_num}: {error}") from error


def _csv(path: Path, _columns: list[str] | None) -> Iterator[Row]:
    return _separated(path, ",")


def _tsv(path: Path, _columns: list[str] | None) -> Iterator[Row]:
    return _separated(path, "\t")


def _txt(path: Path, _columns: list[str] | None) -> Iterator[Row]:
    with _open(path) as stream:
        for number, line in enumerate(stream, 1):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            yield {"text": text.rstrip("\r\n")}


def _parquet(path: Path, columns: list[str] | None) -> Iterator[Row]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        there = file.schema_arrow.names
        wanted = None if columns is None else [name for name in there if name in columns]
        if wanted == []:  # pyarrow would read nothing, and the caller say what is missing
            wanted = None
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=wanted):
            yield from batch.to_pylist()


_READERS: dict[str, Callable[[Path, list[str] | None], Iterator[Row]]] = {
    ".jsonl": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
    ".txt": _txt,
}
ENDINGS = tuple(_READERS)
