"""Queries scanned and marked: what a recipe's step does, below the stages.

A **mark** is the short form of a hit that stays with its query, so that later steps can read it:
which item, which verdict, where, and what a judge said. The full evidence, with texts, is a row of
the table ``contamination``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.candidate import PLACE
from vtdata.decontam.index import Index, shared_grams
from vtdata.decontam.profile import judge
from vtdata.decontam.queries import Text, date_of
from vtdata.decontam.report import evidence
from vtdata.decontam.report.spans import to_bytes
from vtdata.records import Query

COLUMN = "contamination"
"""Of a query: its marks. Null: it was not scanned; empty: nothing was found."""
TABLE = "contamination"

MARKS = pa.list_(
    pa.struct(
        [
            ("benchmark", pa.string()),
            ("item", pa.int32()),
            ("item_field", pa.string()),
            ("verdict", pa.string()),
            ("field", pa.string()),
            ("set", pa.string()),
            ("sample_idx", pa.int32()),
            ("dates", pa.string()),
            ("judged", pa.string()),
        ]
    )
)
_SAME = ("benchmark", "item", "item_field", "field", "set", "sample_idx")
"""What makes two marks one."""

ROWS = pa.schema(
    [
        ("query_id", pa.string()),
        ("field", pa.string()),
        ("benchmark", pa.string()),
        ("item", pa.int32()),
        ("item_field", pa.string()),
        ("verdict", pa.string()),
        ("outcome", pa.string()),
        ("set", pa.string()),
        ("sample_idx", pa.int32()),
        ("doc_text", pa.string()),
        ("item_text", pa.string()),
        ("strength", pa.float64()),
        ("coverage", pa.float64()),
        ("alignment", pa.float64()),
        ("similarity", pa.float64()),
        ("n_shared", pa.int32()),
        ("n_grams", pa.int32()),
        ("longest_run", pa.int32()),
        ("numbers_changed", pa.int32()),
        ("rule", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("item_start", pa.int64()),
        ("item_end", pa.int64()),
        ("before", pa.string()),
        ("after", pa.string()),
        ("grams", pa.string()),
        ("others", pa.string()),
        ("date", pa.string()),
        ("item_date", pa.string()),
        ("dates", pa.string()),
        ("split", pa.string()),
        ("item_key", pa.string()),
        ("item_hash", pa.string()),
        ("bench_sha256", pa.string()),
        ("bench_revision", pa.string()),
        ("bench_license", pa.string()),
        ("profile", pa.string()),
    ]
)
"""EVIDENCE for a run's table, which holds text, numbers and booleans."""


def hits_of(
    queries: Sequence[Query],
    texts: Sequence[Text],
    index: Index,
    benchmarks: Mapping[str, Benchmark],
    released_on: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Scan texts of queries and return the evidence, strongest first.

    ``row`` is the query's place in ``queries``; ``rollout`` is a position among its rollouts.
    """
    tables = []
    for side in ("prompt", "response"):
        own = [text for text in texts if text.side == side]
        if not own:
            continue
        raws = pa.array([to_bytes(text.text) for text in own], pa.large_binary())
        found = judge(index.scan(raws, side), index.profile)
        found = found.filter(found.column("verdict").is_valid())
        if found.num_rows:
            tables.append(_placed(found, own, raws, queries, released_on))
    if not tables:
        return []
    told = evidence(
        pa.concat_tables(tables),
        benchmarks,
        index.profile.label,
        grams_of=lambda text, item: shared_grams(text, item, index.profile),
    )
    return told.to_pylist()


def _placed(
    found: pa.Table,
    texts: Sequence[Text],
    raws: pa.Array,
    queries: Sequence[Query],
    released_on: Mapping[str, str],
) -> pa.Table:
    at = found.column("text").to_pylist()
    places = [_place(texts[number], queries, released_on) for number in at]
    columns = pa.Table.from_pylist(places, pa.schema([*PLACE, ("date", pa.string())]))
    for name in columns.column_names:
        found = found.append_column(columns.schema.field(name), columns.column(name))
    return found.append_column("raw", raws.take(pa.array(at, pa.int64())))


def _place(text: Text, queries: Sequence[Query], released_on: Mapping[str, str]) -> dict[str, Any]:
    query = queries[text.query]
    rollout = None if text.rollout is None else query.rollouts[text.rollout]
    return {
        "doc": query.id,
        "file": "",
        "row": text.query,
        "field": text.field,
        "side": "prompt" if rollout is None else "response",
        "rollout": text.rollout,
        "date": date_of(query, rollout, released_on),
    }


def mark(query: Query, hits: Iterable[Mapping[str, Any]]) -> None:
    """Write marks on a query; those of an earlier scan that were not found again stay."""
    marks = {_key(one): one for one in query.extra.get(COLUMN) or []}
    for hit in hits:
        new = _mark(query, hit)
        old = marks.get(_key(new))
        marks[_key(new)] = new | ({"judged": old["judged"]} if old else {})
    query.extra[COLUMN] = [marks[key] for key in sorted(marks, key=repr)]


def _mark(query: Query, hit: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "benchmark": hit["bench"],
        **{name: hit[name] for name in ("item", "item_field", "verdict", "field")},
        **whose(query, hit),
        "dates": hit["dates"],
        "judged": None,
    }


def _key(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(one[name] for name in _SAME)


def whose(query: Query, hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rollout of a hit by set and number; nulls for the prompt."""
    rollout = None if hit["rollout"] is None else query.rollouts[hit["rollout"]]
    return {
        "set": rollout and rollout.set,
        "sample_idx": None if rollout is None else rollout.sample_idx,
    }


def row(query: Query, hit: Mapping[str, Any], outcome: str) -> dict[str, Any]:
    """Return a hit as a row of the table."""
    known = {name: hit[name] for name in ROWS.names if name in hit}
    others = [f"{one['bench']}:{one['item']} {one['verdict']}" for one in hit["others"]]
    return {
        **known,
        "query_id": query.id,
        "benchmark": hit["bench"],
        "outcome": outcome,
        **whose(query, hit),
        "grams": None if hit["grams"] is None else " | ".join(hit["grams"]),
        "others": ", ".join(others) or None,
    }
