"""From stored candidates to hits, and from hits to what is dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.engine import Engine, Profile, bench_key
from vtdata.decontam.passes import Held
from vtdata.decontam.report import evidence


def judged(
    held: Held, benchmarks: Sequence[Benchmark], profile: Profile, engine: Engine
) -> pa.Table:
    """Return the hits of one shard: stored candidates with a verdict, and their place in full."""
    names = {bench_key(bench): bench.name for bench in benchmarks}
    candidates = held.shelf.candidates(names)
    if not candidates.num_rows:
        texts = pa.array([], pa.int32())
    else:
        places = zip(
            candidates.column("row").to_pylist(),
            candidates.column("field").to_pylist(),
            strict=True,
        )
        numbers: dict[tuple[int, str], int] = {}
        texts = pa.array([numbers.setdefault(place, len(numbers)) for place in places], pa.int32())
    found = engine.judge(candidates.append_column("text", texts), profile)
    return _placed(found.filter(found.column("verdict").is_valid()), held.shard.file)


def _placed(hits: pa.Table, file: str) -> pa.Table:
    ids, rows = hits.column("id").to_pylist(), hits.column("row").to_pylist()
    docs = [f"{file}:{row}" if own is None else own for own, row in zip(ids, rows, strict=True)]
    return (
        hits.append_column("doc", pa.array(docs, pa.string()))
        .append_column("file", pa.array([file] * len(docs), pa.string()))
        .drop_columns(["id"])
    )


def evidence_of(
    hits: pa.Table, benchmarks: Sequence[Benchmark], profile: Profile, engine: Engine
) -> pa.Table:
    """Return the evidence of hits; of their texts it sees the windows that the store kept."""
    named = {bench.name: bench for bench in benchmarks}
    renamed = hits.rename_columns({"window": "raw", "window_start": "raw_start"})
    grams = engine.grams_of
    grams_of = None if grams is None else lambda text, item: grams(text, item, profile)
    return evidence(renamed, named, profile.label, grams_of=grams_of)


@dataclass(slots=True)
class Drops:
    """What leaves one file."""

    rows: dict[int, str] = field(default_factory=dict)
    """Reason by row."""
    rollouts: dict[int, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    """Reason by row and position of the rollout."""


def drops_of(evidence: pa.Table, verdicts: Sequence[str]) -> Mapping[str, Drops]:
    """Return by file what leaves a corpus: the row for a prompt, the rollout for its response.

    The reason is that of the strongest hit: verdict, benchmark, item and field.
    """
    found: dict[str, Drops] = defaultdict(Drops)
    columns = ["file", "row", "side", "rollout", "verdict", "bench", "item", "field", "via"]
    for hit in evidence.select(columns).to_pylist():  # strongest first
        if hit["verdict"] not in verdicts:
            continue
        reason = "{verdict}: item {item} of {bench}, in {field}".format(**hit)
        if hit["via"] is not None:
            reason += f", a near-duplicate of {hit['via']}"
        drops = found[hit["file"]]
        if hit["side"] == "response" and hit["rollout"] is not None:
            drops.rollouts[hit["row"]].setdefault(hit["rollout"], reason)
        else:
            drops.rows.setdefault(hit["row"], reason)
    return found
