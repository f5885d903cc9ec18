"""Taint: who nearly repeats a contaminated document's prompt is contaminated; one hop far."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark, Item
from vtdata.decontam.report.spans import to_text

CONFIRMED = ("exact", "near")
"""What spreads; a template or a suspect doesn't."""
_ENDING = " (spread)"


def taints(
    hits: Sequence[pa.Table], benchmarks: Sequence[Benchmark], verdicts: Sequence[str]
) -> list[Benchmark]:
    """Return prompts with a hit of a dropped class as benchmarks, one for each that was hit.

    An item's text is the prompt that holds the hit, its key the document, its date the
    benchmark's. One set for each benchmark, so that a new benchmark is followed up alone and what
    may not be quoted stays unquoted.
    """
    prompts: dict[str, dict[tuple[str, str, int], str]] = defaultdict(dict)
    for table in hits:
        columns = ["bench", "verdict", "side", "doc", "file", "row", "window"]
        for hit in table.select(columns).to_pylist():
            if hit["side"] == "prompt" and hit["verdict"] in verdicts:
                place = (hit["file"], hit["doc"], hit["row"])
                prompts[hit["bench"]].setdefault(place, to_text(hit["window"]))
    return [_set_of(bench, prompts[bench.name]) for bench in benchmarks if prompts.get(bench.name)]


def _set_of(bench: Benchmark, prompts: Mapping[tuple[str, str, int], str]) -> Benchmark:
    seen: dict[str, str] = {}
    for (_, doc, _), text in sorted(prompts.items()):
        seen.setdefault(text, doc)  # a prompt that was copied many times is one item
    items = tuple(
        Item(at, text, "prompt", key=doc) for at, (text, doc) in enumerate(sorted(seen.items()))
    )
    told = json.dumps([[item.key, item.text] for item in items])
    return replace(
        bench,
        name=f"{bench.name}{_ENDING}",
        items=items,
        source=f"documents with a hit of {bench.name}",
        sha256=hashlib.sha256(told.encode()).hexdigest(),
        split=None,
    )


def tainted(
    hits: pa.Table, sets: Sequence[Benchmark], contaminated: set[tuple[str, int]]
) -> pa.Table:
    """Keep confirmed hits of documents that have no hit of their own, with ``via``.

    Args:
        hits: of prompts against ``sets``.
        sets: as ``taints`` returned them.
        contaminated: file and row of each document whose prompt has a hit of a dropped class.
    """
    docs = {(bench.name, item.index): item.key for bench in sets for item in bench.items}
    columns = ["file", "row", "verdict", "bench", "item"]
    rows = hits.select(columns).to_pylist()
    keep = [
        row["verdict"] in CONFIRMED and (row["file"], row["row"]) not in contaminated
        for row in rows
    ]
    via = [docs[row["bench"], row["item"]] for row in rows]
    marked = hits.append_column("via", pa.array(via, pa.string()))
    return marked.filter(pa.array(keep, pa.bool_()))


def contaminated_rows(hits: Sequence[pa.Table], verdicts: Sequence[str]) -> set[tuple[str, int]]:
    """File and row of each document whose prompt has a hit of these classes."""
    columns = ["file", "row", "side", "verdict"]
    return {
        (hit["file"], hit["row"])
        for table in hits
        for hit in table.select(columns).to_pylist()
        if hit["side"] == "prompt" and hit["verdict"] in verdicts
    }
