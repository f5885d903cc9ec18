"""A cleaned copy of a corpus: same files, same schema, fewer rows; nothing vanishes.

    OUT/
      <file> ...                 as the input, without what was dropped
      removed/<file> ...         the rows that were dropped; Parquet with a column of reasons more
      removed/<file>.reasons.jsonl   reasons of dropped JSON lines, in the same order
      decontam.json              written last: counts, hashes, benchmarks

A file of which nothing is dropped is copied byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.decontam.hits import Drops
from vtdata.decontam.inputs import Shard
from vtdata.decontam.inputs.hub import HubShard
from vtdata.decontam.inputs.jsonl import JsonlShard
from vtdata.decontam.inputs.parquet import ParquetShard
from vtdata.decontam.outputs_jsonl import split_lines
from vtdata.decontam.outputs_parquet import Split, split_hub, split_parquet
from vtdata.decontam.report.write import replacing
from vtdata.errors import ConfigError, RunError

MANIFEST = "decontam.json"
REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """One file of the copy."""

    file: str
    rows_in: int
    kept: int
    removed: int
    rollouts_dropped: int
    sha256: str
    """Of the cleaned file."""


def check_out(out: Path, shards: Sequence[Shard]) -> None:
    """Refuse a folder that holds something else, before any work.

    Raises:
        ConfigError: it isn't empty and no cleaned copy, or the corpus lies in it.
    """
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out {out} is a file: name a folder")
    inside = [s.path for s in shards if s.path and out.resolve() in s.path.resolve().parents]
    if inside:
        raise ConfigError(
            f"--out {out}: {inside[0]} lies in it and would be replaced: name another"
        )
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise ConfigError(
            f"--out {out} is not empty and holds no {MANIFEST}, so it is no cleaned copy of ours: "
            "name a new folder"
        )


def write_out(
    out: Path, shards: Sequence[Shard], drops: Mapping[str, Drops], about: Mapping[str, Any]
) -> list[Cleaned]:
    """Write the cleaned copy; each file is renamed when it is whole, the manifest last.

    Args:
        out: the folder, as ``check_out`` accepts it.
        shards: the corpus.
        drops: what leaves it, by file.
        about: what the manifest says besides.

    Raises:
        RunError: rows were lost or doubled (a bug), or a file can't be read.
    """
    if out.is_dir():
        (out / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(out / REMOVED, ignore_errors=True)
    cleaned = [_clean(out, shard, drops.get(shard.file, Drops())) for shard in shards]
    out.mkdir(parents=True, exist_ok=True)
    data = {**about, "files": [asdict(one) for one in cleaned]}
    with replacing(out / MANIFEST) as file:
        file.write(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True).encode() + b"\n")
    return cleaned


def _clean(out: Path, shard: Shard, drops: Drops) -> Cleaned:
    target, removed = out / shard.file, out / REMOVED / shard.file
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(shard, JsonlShard):
        split = split_lines(shard, drops, target, removed)
    elif isinstance(shard, ParquetShard):
        split = split_parquet(shard, drops, target, removed)
    elif isinstance(shard, HubShard):
        split = split_hub(shard, drops, target, removed)
    else:
        raise RunError(f"{shard.file}: no way to write a {type(shard).__name__}")
    _check(shard.file, split, drops)
    with target.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Cleaned(
        shard.file, split.rows_in, split.kept, split.removed, split.rollouts_dropped, digest
    )


def _check(file: str, split: Split, drops: Drops) -> None:
    if split.rows_in != split.kept + split.removed or split.removed < len(drops.rows):
        raise RunError(
            f"{file}: {split.rows_in} rows in, {split.kept} kept, {split.removed} removed, "
            f"{len(drops.rows)} to be removed: this is a bug; the copy is not finished"
        )


def write_marks(marks: Path, evidence: pa.Table, drop: Sequence[str]) -> None:
    """Write a line for each document with a hit, as JSON Lines or Parquet by the file's ending.

    Columns: doc, file, row, verdicts and benchmarks (sorted, each once), drop (whether a verdict
    of a dropped class is among them).
    """
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for hit in evidence.select(["doc", "file", "row", "verdict", "bench"]).to_pylist():
        mark = found.setdefault(
            (hit["file"], hit["row"]),
            {
                **{name: hit[name] for name in ("doc", "file", "row")},
                "verdicts": set(),
                "benchmarks": set(),
            },
        )
        mark["verdicts"].add(hit["verdict"])
        mark["benchmarks"].add(hit["bench"])
    rows = [
        {
            **mark,
            "verdicts": sorted(mark["verdicts"]),
            "benchmarks": sorted(mark["benchmarks"]),
            "drop": bool(mark["verdicts"] & set(drop)),
        }
        for _, mark in sorted(found.items())
    ]
    with replacing(marks) as file:
        if marks.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows, schema=_MARKS), file, compression="zstd")
        else:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


_MARKS = pa.schema(
    [
        ("doc", pa.string()),
        ("file", pa.string()),
        ("row", pa.int64()),
        ("verdicts", pa.list_(pa.string())),
        ("benchmarks", pa.list_(pa.string())),
        ("drop", pa.bool_()),
    ]
)
