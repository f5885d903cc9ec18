"""JSON Lines: parsed in blocks by Arrow, line by line only where a block doesn't parse."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from vtdata.decontam.inputs.fields import choose
from vtdata.decontam.inputs.parquet import arrow_batch, needed
from vtdata.decontam.inputs.pieces import Bad, Batch, Field
from vtdata.decontam.inputs.rows import rows_batch
from vtdata.decontam.inputs.shard import BATCH_BYTES, UNIT_BYTES, Unit
from vtdata.decontam.inputs.walk import is_list
from vtdata.errors import ConfigError, RunError

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
SUFFIXES = (".jsonl", ".ndjson", ".json")
SAMPLE_BYTES = 1 << 20
"""So much of a file decides which columns it has (ours)."""
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class JsonlShard:
    """A JSON Lines file, compressed or not.

    A compressed one is one unit, because nobody can start in its middle.
    """

    path: Path
    file: str
    fields: tuple[Field, ...]
    schema: pa.Schema

    def digest(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def units(self) -> list[Unit]:
        size = self.path.stat().st_size
        if self.path.suffix in COMPRESSIONS:
            return [Unit(0, 0, size, 0, size * 3)] if size else []
        units, first, row = [], 0, 0
        with self.path.open("rb") as file:
            while first < size:
                stop, num_lines = _skip_unit(file, first)
                units.append(Unit(len(units), first, stop, row, stop - first))
                first, row = stop, row + num_lines
        return units

    def batches(self, unit: Unit, fields: Sequence[Field]) -> Iterator[Batch]:
        row = unit.row
        schema = _narrow(self.schema, needed(fields, self.schema))
        for block in blocks(self.path, self.file, unit):
            num_lines = block.count(b"\n") + (not block.endswith(b"\n"))
            yield _parse(block, row, num_lines, schema, fields)
            row += num_lines


def jsonl_shard(path: Path, file: str, asked: Sequence[str]) -> JsonlShard:
    """Look at a file's first lines and choose its columns.

    Raises:
        ConfigError: no line of its first MB is a JSON object, or it has nothing to scan.
    """
    block = next(blocks(path, file, None, SAMPLE_BYTES), b"")
    rows = [row for row, _ in objects(block, 0) if row is not None]
    if not rows:
        raise ConfigError(
            f"{file}: no line of its first {len(block):,} bytes is a JSON object: it is no JSON "
            "Lines file, or empty; leave it out or mend it"
        )
    tables = [_table_of(row) for row in rows]
    try:
        schema = pa.unify_schemas([t.schema for t in tables], promote_options="permissive")
    except pa.ArrowTypeError:
        schema = tables[0].schema  # lines that differ from it are read one by one
    return JsonlShard(path, file, choose(schema, asked, file), schema)


def blocks(path: Path, shown: str, unit: Unit | None, size: int = BATCH_BYTES) -> Iterator[bytes]:
    """Yield whole lines, about ``size`` bytes at a time, without a byte order mark.

    Raises:
        RunError: the file ends in the middle of its compression, or can't be read.
    """
    try:
        with _open(path) as stream:
            if unit is not None and path.suffix not in COMPRESSIONS:
                stream.seek(unit.first)
                left = unit.stop - unit.first
            else:
                left = None
            at = 0 if unit is None else unit.first
            while block := stream.read(size if left is None else min(size, left)):
                if left is None or len(block) < left:
                    block += stream.readline()
                left = None if left is None else left - len(block)
                yield block.removeprefix(_MARK) if at == 0 else block
                at += len(block)
    except OSError as error:
        raise RunError(f"{shown} is corrupt or can't be read: {error}") from error


def _open(path: Path) -> BinaryIO:
    kind = COMPRESSIONS.get(path.suffix)
    if kind is None:
        return path.open("rb")
    # Unlike other packages pyarrow fails on a truncated file instead of ending early.
    native = pa.CompressedInputStream(pa.OSFile(str(path)), kind)
    return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", native), 1 << 20))


def _skip_unit(file: BinaryIO, first: int) -> tuple[int, int]:
    """Where a unit that starts at ``first`` stops, and how many lines it has."""
    file.seek(first)
    num_lines, last, at = 0, b"\n", first
    while at < first + UNIT_BYTES:
        part = file.read(min(1 << 20, first + UNIT_BYTES - at))
        if not part:
            break
        num_lines += part.count(b"\n")
        last, at = part[-1:], at + len(part)
    if last != b"\n":
        rest = file.readline()
        at += len(rest)
        num_lines += 1
    return at, num_lines


def _parse(
    block: bytes, row: int, num_lines: int, schema: pa.Schema, fields: Sequence[Field]
) -> Batch:
    try:
        table = pj.read_json(
            pa.BufferReader(block),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
        )
    except pa.ArrowException:
        table = None
    if table is None or table.num_rows != num_lines:  # blank lines would shift the numbers
        return _one_by_one(block, row, fields)
    batch = table.combine_chunks().to_batches()[0]
    return arrow_batch(batch, fields, np.arange(row, row + num_lines, dtype=np.int64))


def _one_by_one(block: bytes, row: int, fields: Sequence[Field]) -> Batch:
    good, numbers, bad = [], [], []
    for at, (found, wrong) in enumerate(objects(block, row)):
        if found is not None:
            good.append(found)
            numbers.append(row + at)
        elif wrong is not None:
            bad.append(wrong)
    return rows_batch(good, np.array(numbers, dtype=np.int64), fields, tuple(bad))


def objects(block: bytes, row: int) -> Iterator[tuple[dict[str, Any] | None, Bad | None]]:
    """Each line as an object, or what is wrong with it; neither where it is blank."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for at, line in enumerate(lines):
        if not line.strip():
            yield None, None
            continue
        try:
            found = json.loads(line.decode("utf-8"), strict=False)
        except UnicodeDecodeError as error:
            yield None, Bad(row + at, "bad_encoding", f"byte {error.start} isn't UTF-8")
        except (ValueError, RecursionError) as error:
            yield None, Bad(row + at, "bad_json", str(error))
        else:
            if isinstance(found, dict):
                yield found, None
            else:
                yield None, Bad(row + at, "bad_json", f"a {type(found).__name__}, no object")


def _table_of(row: dict[str, Any]) -> pa.Table:
    """One object as Arrow, without what Arrow can't hold (lists of mixed types, huge numbers)."""
    columns = {}
    for name, value in row.items():
        try:
            columns[name] = pa.array([value])
        except (pa.ArrowException, UnicodeEncodeError, OverflowError, ValueError, TypeError):
            is_text = isinstance(value, str)
            columns[name] = pa.nulls(1, pa.string() if is_text else pa.null())
    return pa.table(columns)


def _narrow(schema: pa.Schema, wanted: set[str]) -> pa.Schema:
    """The schema with only the wanted leaves."""
    fields = [_narrowed(field, "", wanted) for field in schema]
    return pa.schema([field for field in fields if field is not None])


def _narrowed(field: pa.Field, above: str, wanted: set[str]) -> pa.Field | None:
    path, kind, depth = above + field.name, field.type, 0
    while is_list(kind):
        kind, depth = kind.value_type, depth + 1
    if pa.types.is_struct(kind):
        inside = [_narrowed(child, f"{path}.", wanted) for child in kind]
        kept = [child for child in inside if child is not None]
        if not kept:
            return None
        kind = pa.struct(kept)
    elif path not in wanted:
        return None
    elif pa.types.is_null(kind):  # null in all lines that were looked at
        kind = pa.string()
    for _ in range(depth):
        kind = pa.list_(kind)
    return pa.field(field.name, kind)
