"""Benchmarks and candidates for tests of evidence, page and card."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark, Item
from vtdata.decontam.candidate import CANDIDATE
from vtdata.decontam.report import evidence

SECRET = "Seventeen hedgehogs cross the marble bridge at dawn carrying nine lanterns each"


def bench(name: str, *texts: str, **known: Any) -> Benchmark:
    """A benchmark of these items, in the field ``question``."""
    items = tuple(Item(at, text, "question", key=f"{name}-{at}") for at, text in enumerate(texts))
    return Benchmark(name, items, f"{name}.jsonl", sha256=name[0] * 64, **known)


BENCHMARKS = {
    "open": bench(
        "open", "Tom has 12 red apples.", "How many primes are below 100?", license="MIT"
    ),
    "gated": bench("gated", SECRET, gated=True),
    "paid": bench("paid", SECRET[::-1], non_commercial=True, license="CC-BY-NC-4.0"),
    "silent": bench("silent", "Nothing in the corpus is like this at all."),
}


def candidate(raw: str | bytes = "Tom has 15 red apples.", **other: Any) -> dict[str, Any]:
    """A candidate for item 0 of ``open``, all of ``raw``; ``other`` replaces what it names."""
    size = len(raw.encode() if isinstance(raw, str) else raw)
    numbers = {"coverage": 0.5, "n_shared": 3, "n_grams": 6, "alignment": 91.0, "longest_run": 4}
    row = {
        "doc": "d1",
        "file": "part-0.parquet",
        "row": 0,
        "field": "prompt",
        "side": "prompt",
        "rollout": None,
        "verdict": "near",
        "strength": 0.5,
        "bench": "open",
        "item": 0,
        "item_field": "question",
        "start": 0,
        "end": size,
        "item_start": 0,
        "item_end": 10_000,
        **numbers,
        "n_tokens": 5,
        "numbers_changed": 1,
        "numbers_same": 0,
        "similarity": None,
        "rule": "coverage",
        "raw": raw,
    }
    return row | other


def table(*rows: dict[str, Any]) -> pa.Table:
    """Candidates as a table; ``raw`` is binary where any is bytes."""
    unread = {field.name: 0 for field in CANDIDATE if field.name != "text"}
    return pa.Table.from_pylist([unread | row for row in rows])


def found(*rows: dict[str, Any]) -> pa.Table:
    """The evidence of candidates."""
    return evidence(
        table(*rows), BENCHMARKS, "evidence-1", grams_of=lambda mine, theirs: ["tom has"]
    )
