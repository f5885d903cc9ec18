"""Corpora to measure decontamination with: siblings of benchmark items, and other text."""

from __future__ import annotations

import ast
import json
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.bench_decontam_cases import CASES

TEXT_COLUMNS = ["prompt", "response"]
ROW_GROUP = 1000
OTHER_BYTES = 20 * 10**6
"""Of documentation before it is repeated."""

Rows = list[tuple[str, str]]


def siblings() -> Rows:
    """Clean documents of the planted corpus."""
    truth = pq.read_table(CASES / "truth.parquet").to_pylist()
    clean = {row["id"] for row in truth if row["kind"].startswith("clean")}
    rows = pq.read_table(CASES / "corpus.parquet").to_pylist()
    return [(row["prompt"], row["response"]) for row in rows if row["id"] in clean]


def other() -> Rows:
    """Documentation of installed packages: a row for each file."""
    seen: set[str] = set()
    rows, size = [], 0
    for text in _documents():
        parts = [part for part in re.split(r"\n\s*\n", text) if len(part) > 40]
        new = [part for part in parts if part not in seen]
        seen.update(new)
        if len(new) < 2:
            continue
        rows.append((new[0], "\n\n".join(new[1:])))
        size += sum(len(part.encode("utf-8", "replace")) for part in new)
        if size > OTHER_BYTES:
            break
    return rows


def _documents() -> Iterator[str]:
    folder = Path(sysconfig.get_paths()["purelib"])
    names = ("*.md", "*.rst", "METADATA", "*.py")
    paths = sorted(path for name in names for path in folder.rglob(name))
    random.Random(0).shuffle(paths)
    for path in paths:
        text = path.read_text("utf-8", "replace")
        if path.suffix != ".py":
            yield text
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
        yield "\n\n".join(filter(None, found))


def written(rows: Rows, folder: Path, mb: float) -> tuple[Path, Path, float]:
    """Write rows, repeated to a size, as Parquet and as JSON Lines; returns the size in MB."""
    rows = [(p.encode("utf-8", "replace").decode(), r.encode("utf-8", "replace").decode())
            for p, r in rows]  # fmt: skip
    once = sum(len(p.encode()) + len(r.encode()) for p, r in rows)
    times = max(1, round(mb * 10**6 / once))
    folder.mkdir()
    (folder / "jsonl").mkdir()
    parquet, jsonl = folder / f"{mb:.0f}.parquet", folder / "jsonl" / "corpus.jsonl"
    schema = pa.schema([(name, pa.string()) for name in ("id", *TEXT_COLUMNS)])
    with pq.ParquetWriter(parquet, schema, compression="zstd") as writer, jsonl.open("w") as lines:
        for time_ in range(times):
            ids = [f"{time_}-{at}" for at in range(len(rows))]
            table = pa.table([ids, *zip(*rows, strict=True)], schema=schema)
            writer.write_table(table, row_group_size=ROW_GROUP)
            for prompt, response in rows:
                lines.write(json.dumps({"text": f"{prompt}\n{response}"}) + "\n")
    return parquet, jsonl, once * times / 10**6
