"""Evidence as files: Parquet for tools, JSON for everything else."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.decontam.candidate import EVIDENCE

SCHEMA_VERSION = 1
ROW_GROUP_ROWS = 2_000
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes], None, None]:
    """Open a temporary file beside ``path`` and rename it when all is written."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_parquet(evidence: pa.Table, path: Path) -> None:
    """Write evidence as Parquet (zstd); equal tables give equal bytes."""
    table = evidence.cast(EVIDENCE.with_metadata({"schema_version": str(SCHEMA_VERSION)}))
    with replacing(path) as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            row_group_size=ROW_GROUP_ROWS,
            write_page_index=True,
        )


def write_json(evidence: pa.Table, path: Path) -> None:
    """Write evidence, UTF-8, in the table's order: lines into ``.jsonl``, else one JSON array."""
    with replacing(path) as file:
        if path.suffix == ".jsonl":
            file.writelines(line.encode() + b"\n" for line in json_lines(evidence))
            return
        file.write(b"[")
        for number, line in enumerate(json_lines(evidence)):
            file.write((b",\n" if number else b"\n") + line.encode())
        file.write(b"\n]\n")


def json_lines(evidence: pa.Table) -> Iterable[str]:
    """Yield a line of JSON for each hit.

    Characters that some readers take for the end of a line are escaped, and floats have the
    seven digits that they hold.
    """
    floats = [field.name for field in evidence.schema if pa.types.is_floating(field.type)]
    for batch in evidence.to_batches(ROW_GROUP_ROWS):
        for row in batch.to_pylist():
            for name in floats:
                row[name] = _short(row[name])
            for other in row["others"]:
                other["coverage"] = _short(other["coverage"])
            yield json.dumps(row, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS)


def _short(value: float | None) -> Any:
    """A float32 without the digits that float64 adds."""
    return None if value is None else float(f"{value:.7g}")
