"""An engine that finds exact copies only: small, honest, and everything around it can be tried."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark, Item
from vtdata.decontam.candidate import CANDIDATE
from vtdata.decontam.engine import Engine
from vtdata.decontam.inputs import Side
from vtdata.errors import ConfigError

LOG = "VTDATA_TEST_SCANS"
"""Names a file to which every scan adds a line: how many texts, for how many items."""
SLOW = "VTDATA_TEST_SLOW_S"


@dataclass(frozen=True)
class Exact:
    """A profile whose threshold of length decides between exact and short_exact."""

    name: str = "exact"
    version: int = 1
    hash: str = "exact-1"
    short: int = 20
    aligns: bool = True

    @property
    def label(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def thresholds(self) -> dict[str, object]:
        return {"short": self.short}


@dataclass(frozen=True)
class Contains:
    """Finds each place where a text holds an item's, without regard to case and digits."""

    benchmarks: tuple[Benchmark, ...]

    def scan(self, texts: pa.Array, side: Side) -> pa.Table:
        _note(len(texts), sum(len(bench.items) for bench in self.benchmarks))
        raws = [scalar.as_buffer().to_pybytes() for scalar in texts]
        rows = [
            _candidate(at, bench.name, item, raw, match)
            for at, raw in enumerate(raws)
            for bench in self.benchmarks
            for item in bench.items
            for match in [_pattern(item).search(raw)]
            if match
        ]
        return pa.Table.from_pylist(rows, schema=CANDIDATE)


def _pattern(item: Item) -> re.Pattern[bytes]:
    raw = re.escape(item.text.encode("utf-8", "surrogatepass"))
    return re.compile(re.sub(rb"\d+", rb"\\d+", raw), re.IGNORECASE)


def _candidate(
    at: int, bench: str, item: Item, raw: bytes, match: re.Match[bytes]
) -> dict[str, Any]:
    theirs, mine = re.findall(r"\d+", item.text), re.findall(rb"\d+", match[0])
    changed = sum(a.encode() != b for a, b in zip(theirs, mine, strict=True))
    known = {
        "text": at,
        "bench": bench,
        "item": item.index,
        "item_field": item.field,
        "start": match.start(),
        "end": match.end(),
        "item_end": len(item.text.encode("utf-8", "surrogatepass")),
        "coverage": 1.0,
        "numbers_changed": changed,
        "numbers_same": len(theirs) - changed,
        "rule": "whole",
    }
    rest = {field.name: None if field.nullable else 0 for field in CANDIDATE}
    return {**rest, **known}


def _note(num_texts: int, num_items: int) -> None:
    if os.environ.get(SLOW):
        time.sleep(float(os.environ[SLOW]))
    if path := os.environ.get(LOG):
        with Path(path).open("a") as file:
            file.write(json.dumps([num_texts, num_items]) + "\n")


def build(benchmarks: Sequence[Benchmark], profile: Exact) -> Contains:
    return Contains(tuple(benchmarks))


def judge(candidates: pa.Table, profile: Exact) -> pa.Table:
    verdicts = [
        "template" if changed else "short_exact" if end - start < profile.short else "exact"
        for changed, start, end in zip(
            *(candidates.column(c).to_pylist() for c in ("numbers_changed", "start", "end")),
            strict=True,
        )
    ]
    strengths = pa.array([1.0] * len(verdicts), pa.float32())
    return candidates.append_column("verdict", pa.array(verdicts, pa.string())).append_column(
        "strength", strengths
    )


def load(word: str) -> Benchmark:
    """A file of JSON lines with ``question``, as the registry's loader would read it."""
    path = Path(word)
    if not path.is_file():
        raise ConfigError(f"benchmark '{word}' is not known")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    items = tuple(Item(at, row["question"], "question") for at, row in enumerate(rows))
    return Benchmark(path.stem, items, source=path.name, sha256="0" * 64, published="2025-02-06")


def engine(**profile: Any) -> Engine:
    return Engine(load=load, profile=lambda _name: Exact(**profile), build=build, judge=judge)


def bench_file(folder: Path, name: str, *questions: str) -> str:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"question": question}) + "\n" for question in questions))
    return str(path)
