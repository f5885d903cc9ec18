"""What is in the files of a set, counted from the files themselves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.shards.files import FileEntry
from vtdata.shards.spill import SIDE_SPLIT

_PATHS = {
    "query": ("query_id", "extra_info.query_id"),
    "license": ("license", "extra_info.license"),
    "source": ("data_source", "extra_info.source"),
    "domain": ("domain", "ability"),
    "answer_source": ("answer_source", "extra_info.answer_source"),
    "teacher": ("teacher",),
    "n_prompt_tokens": ("n_prompt_tokens",),
    "n_completion_tokens": ("n_completion_tokens",),
    "n": ("pass_rate.n", "extra_info.pass_rate_n"),
    "correct": ("pass_rate.correct", "extra_info.pass_rate_correct"),
    "truncated": ("pass_rate.truncated", "extra_info.pass_rate_truncated"),
}
"""Where each fact stands: at the first of these paths that the schema has."""

HISTOGRAM = ("0", "to 1/4", "to 1/2", "to 3/4", "below 1", "1")


@dataclass(slots=True)
class Totals:
    """Counts over the rows of a set; a query's pass rate counts once."""

    rows: int = 0
    unique_prompts: int = 0
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0
    rows_without_token_counts: int = 0
    rollouts: int = 0
    """Rollouts behind the pass rates of these queries."""
    truncated: int = 0
    """Of those, how many were cut at their token limit."""
    pass_rates: dict[str, int] = field(default_factory=lambda: dict.fromkeys(HISTOGRAM, 0))
    """Queries by correct / asked, so truncated and unscored count as not solved."""
    splits: dict[str, int] = field(default_factory=dict)
    licenses: dict[str, int] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    domains: dict[str, int] = field(default_factory=dict)
    answer_sources: dict[str, int] = field(default_factory=dict)
    teachers: dict[str, int] = field(default_factory=dict)
    """Rows by canonical JSON of model, revision and sampling."""


def measure(folder: Path, files: Sequence[FileEntry]) -> Totals:
    """Count what is in the files, reading narrow columns only.

    Holds the ids of the unique queries, about 100 bytes each.
    """
    totals, seen = Totals(), set()
    for entry in files:
        if entry.split == SIDE_SPLIT:
            continue
        totals.rows += entry.rows
        totals.splits[entry.split] = totals.splits.get(entry.split, 0) + entry.rows
        for columns in _read(folder / entry.name):
            _count(columns, totals)
            _count_queries(columns, totals, seen)
    totals.unique_prompts = len(seen)
    return totals


def _read(path: Path) -> Iterator[dict[str, list[Any]]]:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        paths = {fact: _find(file.schema_arrow, options) for fact, options in _PATHS.items()}
        found = {fact: where for fact, where in paths.items() if where}
        for batch in file.iter_batches(batch_size=10_000, columns=list(found.values())):
            yield {fact: _column(batch, where).to_pylist() for fact, where in found.items()}


def _find(schema: pa.Schema, options: tuple[str, ...]) -> str | None:
    for option in options:
        name, _, inner = option.partition(".")
        if name in schema.names:
            kind = schema.field(name).type
            if not inner or (pa.types.is_struct(kind) and kind.get_field_index(inner) >= 0):
                return option
    return None


def _column(batch: pa.RecordBatch, path: str) -> pa.Array:
    name, _, inner = path.partition(".")
    column = batch.column(name)
    return column.flatten()[column.type.get_field_index(inner)] if inner else column


def _count(columns: dict[str, list[Any]], totals: Totals) -> None:
    for fact, counter in (
        ("license", totals.licenses),
        ("source", totals.sources),
        ("domain", totals.domains),
        ("answer_source", totals.answer_sources),
    ):
        _tally(counter, ("none" if value is None else value for value in columns.get(fact, [])))
    teachers = Counter(tuple(sorted(teacher.items())) for teacher in columns.get("teacher", []))
    for teacher, count in teachers.items():
        name = json.dumps(dict(teacher), sort_keys=True)
        totals.teachers[name] = totals.teachers.get(name, 0) + count
    prompts = columns.get("n_prompt_tokens", [])
    completions = columns.get("n_completion_tokens", [])
    for prompt, completion in zip(prompts, completions, strict=True):
        totals.n_prompt_tokens += prompt or 0
        totals.n_completion_tokens += completion or 0
        totals.rows_without_token_counts += prompt is None or completion is None


def _tally(counts: dict[str, int], values: Iterable[str]) -> None:
    for value in values:
        counts[value] = counts.get(value, 0) + 1


def _count_queries(columns: dict[str, list[Any]], totals: Totals, seen: set[str]) -> None:
    names = ("query", "n", "correct", "truncated")
    if not all(name in columns for name in names):
        seen.update(columns.get("query", []))
        return
    for query, n, correct, truncated in zip(*(columns[name] for name in names), strict=True):
        if query in seen:
            continue
        seen.add(query)
        if n:
            totals.rollouts += n
            totals.truncated += truncated
            totals.pass_rates[_bar(correct, n)] += 1


def _bar(correct: int, n: int) -> str:
    """Return the bar of the histogram.

    >>> [_bar(correct, 8) for correct in (0, 1, 2, 3, 6, 7, 8)]
    ['0', 'to 1/4', 'to 1/4', 'to 1/2', 'to 3/4', 'below 1', '1']
    """
    if correct in (0, n):
        return HISTOGRAM[0] if correct == 0 else HISTOGRAM[-1]
    return HISTOGRAM[-(-4 * correct // n)]
