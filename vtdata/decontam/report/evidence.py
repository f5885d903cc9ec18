"""From candidates with a verdict to evidence: literal text of both sides, and whose text it is.

``evidence`` takes one batch of candidates with the raw texts that they stand in, so a corpus
streams through it and only hits stay. ``merge`` joins what batches, shards and benchmarks gave,
looks for the other items of each text, and sorts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark, Item
from vtdata.decontam.candidate import EVIDENCE
from vtdata.decontam.dates import compare, iso
from vtdata.decontam.report.spans import around, cut, to_bytes, to_text
from vtdata.errors import RunError

GramsOf = Callable[[str, str], list[str]]
"""(text of the corpus's span, text of the item's span) to the n-grams that they share."""

MAX_OTHERS = 100
"""Most ``others`` of a hit (ours). A text that holds a whole benchmark has rows for all its items
anyway; listing each beside each would be quadratic."""

_PLACE = ("file", "row", "field")
_FROM_CALLER = ("via", "judged", "date", "dates")
_ORDER = ("bench", "item", *_PLACE, "start", "end", "item_field", "item_start", "item_end", "rule")


def evidence(
    candidates: pa.Table,
    benchmarks: Mapping[str, Benchmark],
    profile: str,
    *,
    grams_of: GramsOf | None = None,
) -> pa.Table:
    """Return the evidence of one batch: a row for each candidate whose verdict isn't null.

    Args:
        candidates: the columns of PLACE and CANDIDATE (``text`` isn't read), ``verdict`` (null:
            below the thresholds, left out), ``strength``, and ``raw``: the whole text of that
            file, row and field, string or binary, the same bytes that were scanned. A batch
            carries raw texts for its candidates only; nothing is kept of them but the span and
            200 bytes around it. Where only a window of the text was kept, ``raw`` is the window
            and ``raw_start`` the byte of the text that it begins at. ``via``, ``judged``, ``date``
            and ``dates`` are taken where they are there; ``dates`` is otherwise found from
            ``date`` and the item's.
        benchmarks: by name; all that the candidates speak of.
        profile: name and version, such as ``evidence-1``.
        grams_of: shared n-grams for a reader; without it ``grams`` is null.

    Returns:
        A table of EVIDENCE, sorted as ``merge`` sorts. ``start`` and ``end`` are moved outward to
        whole characters, so that ``doc_text`` is ``raw[start:end]``; the item's likewise. Of a
        gated benchmark neither text, n-grams nor key are written, nor what stands around the
        corpus's span, which may be more of the item.

    Raises:
        RunError: a candidate speaks of a benchmark or item that isn't there, or has no raw text.
    """
    counts = candidates.column("verdict").is_valid()
    raws = _binary(candidates.column("raw")).filter(counts)
    table = candidates.drop_columns("raw").filter(counts)
    items = {
        (name, item.index, item.field): item
        for name in set(table.column("bench").to_pylist()) & benchmarks.keys()
        for item in benchmarks[name].items
    }
    firsts = _firsts(table)
    rows = [
        _row(candidate, raw.as_py(), first, items, benchmarks, grams_of)
        for candidate, raw, first in zip(_dicts(table), raws, firsts, strict=True)
    ]
    for row in rows:
        row["profile"] = profile
    return merge([pa.Table.from_pylist(rows, schema=EVIDENCE)])


def merge(tables: Iterable[pa.Table]) -> pa.Table:
    """Join evidence of batches, shards or benchmarks into one table.

    ``others`` is found again over all of it. Rows are sorted by strength, strongest first, then
    benchmark, item, file, row, field and start: equal input in any order gives equal tables.

    Holds all hits in memory, at its peak two and a half times: 200,000 hits with short texts take
    some 0.6 GB.
    """
    parts = (table.select(EVIDENCE.names).cast(EVIDENCE) for table in tables)
    joined = pa.concat_tables([EVIDENCE.empty_table(), *parts])
    keys = [("strength", "descending"), *((name, "ascending") for name in _ORDER)]
    joined = joined.sort_by(keys).combine_chunks()
    others = pa.array(_others(joined), EVIDENCE.field("others").type)
    at = EVIDENCE.get_field_index("others")
    return joined.set_column(at, EVIDENCE.field("others"), others).cast(EVIDENCE)


def _binary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Raw text as bytes, whichever string type it came in; nothing is validated."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_binary())


def _firsts(table: pa.Table) -> Iterable[int]:
    """The byte of its text that each raw text begins at."""
    if "raw_start" in table.column_names:
        return table.column("raw_start").to_pylist()
    return [0] * table.num_rows


def _dicts(table: pa.Table) -> Iterable[dict[str, Any]]:
    """Rows without the raw text, batch by batch."""
    wanted = [name for name in EVIDENCE.names if name in table.column_names]
    for batch in table.select(wanted).to_batches():
        yield from batch.to_pylist()


def _row(
    candidate: dict[str, Any],
    raw: bytes | None,
    first: int,
    items: Mapping[tuple[str, int, str], Item],
    benchmarks: Mapping[str, Benchmark],
    grams_of: GramsOf | None,
) -> dict[str, Any]:
    """One row of EVIDENCE, but for ``others`` and ``profile``."""
    bench, item = _whose(candidate, items, benchmarks)
    if raw is None:
        where = "row {row} of {file}, field {field}".format(**candidate)
        raise RunError(f"no raw text for a hit in {where}: give it as column 'raw' and try again")
    mine = cut(raw, candidate["start"] - first, candidate["end"] - first)
    theirs = cut(to_bytes(item.text), candidate["item_start"], candidate["item_end"])
    before, after = around(raw, mine.start, mine.end)
    row = {name: candidate.get(name) for name in _FROM_CALLER} | candidate
    row |= {"start": first + mine.start, "end": first + mine.end, "doc_text": mine.text}
    row |= {"item_start": theirs.start, "item_end": theirs.end, "item_hash": item.hash}
    row |= _published(bench, item)
    row["dates"] = row["dates"] or compare(iso(row["item_date"]), iso(row["date"]))
    row["others"] = []
    if not bench.gated:
        row |= {"item_text": theirs.text, "before": before, "after": after}
        row["grams"] = None if grams_of is None else grams_of(mine.text, theirs.text)
        row["item_key"] = None if item.key is None else to_text(to_bytes(item.key))
    return row


def _whose(
    candidate: dict[str, Any],
    items: Mapping[tuple[str, int, str], Item],
    benchmarks: Mapping[str, Benchmark],
) -> tuple[Benchmark, Item]:
    """The benchmark and the item that a candidate speaks of."""
    name, index, field = (candidate[key] for key in ("bench", "item", "item_field"))
    if name not in benchmarks:
        have = ", ".join(benchmarks) or "none"
        raise RunError(f"a hit speaks of benchmark '{name}', and given are {have}: scan again")
    if (name, index, field) not in items:
        raise RunError(
            f"a hit speaks of item {index}, field '{field}' of '{name}', which has no such item "
            f"among its {len(benchmarks[name].items)}: its file is another one; scan again"
        )
    return benchmarks[name], items[name, index, field]


def _published(bench: Benchmark, item: Item) -> dict[str, Any]:
    """What is known of an item besides its text."""
    return {
        "split": bench.split,
        "item_date": item.date or bench.published,
        "bench_sha256": bench.sha256,
        "bench_revision": bench.revision,
        "bench_license": bench.license,
    }


def _others(table: pa.Table) -> list[list[dict[str, Any]]]:
    """For each row of a sorted table, the further items in the same text, strongest first."""
    columns = table.select(("bench", "item", "verdict", "coverage")).to_pylist()
    places = list(zip(*(table.column(name).to_pylist() for name in _PLACE), strict=True))
    at_place: dict[Any, dict[tuple[str, int], dict[str, Any]]] = defaultdict(dict)
    for place, other in zip(places, columns, strict=True):
        at_place[place].setdefault((other["bench"], other["item"]), other)
    found = []
    for place, own in zip(places, columns, strict=True):
        there = at_place[place]
        first = list(there.values())[: MAX_OTHERS + 1]
        mine = (own["bench"], own["item"])
        rest = [other for other in first if (other["bench"], other["item"]) != mine]
        found.append(rest[:MAX_OTHERS])
    return found
