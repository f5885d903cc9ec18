"""How much of planted contamination each profile finds, by kind, and what it makes of clean text.

    python -m tests.bench.bench_decontam_cases [--profile evidence] [--show 30] [--missed heavy_edit]

Corpus and truth: ../shared/cases/decontam; benchmarks: ../shared/benchmarks. Prints, for each kind
of contamination, the share of its documents by their strongest verdict and how often the true item
is among the items of the evidence and at its head, and the same for clean documents by where they
come from. ``--show N`` prints N clean documents that would be dropped, beside the item, to be read
by eye; ``--missed KIND`` the documents of a kind that would not be.

Two things are not as the truth file has them. Its items of ``number_swap`` and ``cross_copy`` are
in part those of other rows, so they are found by text here; and some documents of ``number_swap``
say word for word what their item says: ``number_swap:same`` in the table.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rapidfuzz import fuzz, process

from vtdata.decontam.benchmark import Benchmark, Item
from vtdata.decontam.candidate import DROPPED, VERDICTS
from vtdata.decontam.index import Index, build
from vtdata.decontam.normal.tokens import words
from vtdata.decontam.profile import judge, profile

SHARED = Path(__file__).parents[2] / ".." / "shared"
CASES = SHARED / "cases" / "decontam"

FILES = {
    "aime24": ("aime24.jsonl", "problem"),
    "aime25": ("aime25.jsonl", "problem"),
    "cmath": ("cmath_zh.jsonl", "question"),
    "gsm8k": ("gsm8k_test.jsonl", "question"),
    "humaneval": ("humaneval.jsonl", "prompt"),
    "ifeval": ("ifeval.jsonl", "prompt"),
    "imo_answerbench": ("imo_answerbench_v2.jsonl", "Problem"),
    "math500": ("math500.jsonl", "problem"),
    "mbpp": ("mbpp.jsonl", "text"),
}

BY_TEXT = ("number_swap", "cross_copy")
"""Kinds whose true item is found by text."""

SAME = "number_swap:same"
"""Documents of ``number_swap`` in which no number was changed."""

NO_ITEM = ("paraphrase", "translated_zh", "answer_only")
"""Kinds of which no word need be the item's: not counted among the items that are right."""

BATCH = 1000


def benchmark(name: str) -> Benchmark:
    """One of ../shared/benchmarks; rows of MBPP are those with the test split's task ids."""
    file, column = FILES[name]
    rows = [json.loads(line) for line in (SHARED / "benchmarks" / file).read_text().splitlines()]
    if name == "mbpp":
        rows = [row for row in rows if 11 <= row["task_id"] <= 510]
    items = tuple(Item(at, row[column], column) for at, row in enumerate(rows))
    return Benchmark(name, items, file, sha256="0" * 64)


@dataclass(frozen=True, slots=True)
class Case:
    """A document and what is true of it."""

    id: str
    kind: str
    prompt: str
    response: str
    items: frozenset[tuple[str, int]]
    """All items that are right: those with the same words as the true one."""


@dataclass(slots=True)
class Judged:
    """A document with all of its hits, strongest first."""

    case: Case
    hits: list[dict[str, Any]] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return self.hits[0]["verdict"] if self.hits else "-"

    @property
    def is_dropped(self) -> bool:
        return self.verdict in DROPPED

    @property
    def is_right(self) -> tuple[bool, bool]:
        """Whether the true item is among the hits' items, and whether it is the first."""
        found = [(hit["bench"], hit["item"]) in self.case.items for hit in self.hits]
        return any(found), found[:1] == [True]


@cache
def cases(benchmarks: tuple[Benchmark, ...]) -> tuple[Case, ...]:
    """The corpus, with the true items."""
    truth = {row["id"]: row for row in pq.read_table(CASES / "truth.parquet").to_pylist()}
    texts = {bench.name: [item.text for item in bench.items] for bench in benchmarks}
    masked = {name: [_masked(text) for text in texts[name]] for name in texts}
    same = _same_words(benchmarks)
    found = []
    for row in pq.read_table(CASES / "corpus.parquet").to_pylist():
        known = truth[row["id"]]
        kind, bench, item = known["kind"], known["bench"], known["item"]
        items: frozenset[tuple[str, int]] = frozenset()
        if bench:
            if kind in BY_TEXT:
                item = _most_alike(row["prompt"], masked[bench])
            items = same[bench, item]
            if kind == "number_swap" and _same(row["prompt"], texts[bench][item]):
                kind = SAME
        found.append(Case(row["id"], kind, row["prompt"], row["response"], items))
    return tuple(found)


def _same_words(benchmarks: Iterable[Benchmark]) -> dict[tuple[str, int], frozenset[Any]]:
    groups = defaultdict(set)
    for bench in benchmarks:
        for item in bench.items:
            groups[tuple(words(item.text, "evidence"))].add((bench.name, item.index))
    return {own: frozenset(group) for group in groups.values() for own in group}


def _most_alike(prompt: str, masked: list[str]) -> int:
    """The item that a prompt with other numbers, or in another spelling, is a copy of."""
    return process.extractOne(_masked(prompt), masked, scorer=fuzz.ratio)[2]


def _same(prompt: str, text: str) -> bool:
    return words(prompt, "evidence") == words(text, "evidence")


def _masked(text: str) -> str:
    return re.sub(r"[\d\W]+", " ", text).lower()


def judged(index: Index, corpus: Iterable[Case]) -> list[Judged]:
    """Scan prompts and responses by compiled code, and judge what is found."""
    import_module("vtdata.decontam.kernel.compiled")
    all_cases = [Judged(case) for case in corpus]
    for first in range(0, len(all_cases), BATCH):
        some = all_cases[first : first + BATCH]
        for side in ("prompt", "response"):
            texts = pa.array([getattr(one.case, side) for one in some])
            found = judge(index.scan(texts, side), index.profile)
            for hit in found.filter(found["verdict"].is_valid()).to_pylist():
                some[hit["text"]].hits.append({**hit, "side": side})
    for one in all_cases:
        one.hits.sort(key=lambda hit: (VERDICTS.index(hit["verdict"]), -hit["strength"]))
    return all_cases


def by_kind(found: Iterable[Judged]) -> dict[str, list[Judged]]:
    """Documents by kind; all clean ones together as ``clean``, too."""
    kinds: dict[str, list[Judged]] = defaultdict(list)
    for one in found:
        kinds[one.case.kind].append(one)
        if one.case.kind.startswith("clean"):
            kinds["clean"].append(one)
    return dict(sorted(kinds.items()))


def share_of(documents: list[Judged], *verdicts: str) -> float:
    """Share whose strongest verdict is one of these."""
    return sum(one.verdict in verdicts for one in documents) / len(documents)


def share_with(documents: list[Judged], verdict: str) -> float:
    """Share with any hit of this verdict."""
    return sum(any(h["verdict"] == verdict for h in one.hits) for one in documents) / len(documents)


def items_right(kinds: dict[str, list[Judged]]) -> tuple[float, float]:
    """Share of the documents with a hit whose true item is among the hits', and is the first."""
    right = [
        one.is_right
        for kind, documents in kinds.items()
        if not kind.startswith("clean") and kind not in NO_ITEM
        for one in documents
        if one.hits
    ]
    return sum(among for among, _ in right) / len(right), sum(f for _, f in right) / len(right)


def table(kinds: dict[str, list[Judged]]) -> Iterator[str]:
    """Lines of percents."""
    yield f"{'kind':24}{'docs':>6}" + "".join(f"{v:>12}" for v in (*VERDICTS, "-", "dropped"))
    for kind, documents in kinds.items():
        shares = [share_of(documents, verdict) for verdict in (*VERDICTS, "-")]
        shares.append(share_of(documents, *DROPPED))
        line = f"{kind:24}{len(documents):6}" + "".join(f"{100 * s:12.1f}" for s in shares)
        if not kind.startswith("clean") and kind not in NO_ITEM:
            right = [one.is_right for one in documents if one.hits]
            if right:
                among, first = (100 * sum(column) / len(right) for column in zip(*right))  # noqa: B905
                line += f"   items {among:5.1f} {first:5.1f}"
        yield line


def _side_by_side(one: Judged, texts: dict[tuple[str, int], str], hits: int = 1) -> Iterator[str]:
    yield f"--- {one.case.id} {one.case.kind} true {sorted(one.case.items)}"
    for hit in one.hits[:hits]:
        raw = getattr(one.case, hit["side"]).encode()
        figures = {
            k: round(v, 3) if isinstance(v, float) else v
            for k, v in hit.items()
            if k not in ("text", "bench", "item", "item_field")
        }
        yield f"{hit['verdict']} {hit['bench']} {hit['item']} {figures}"
        yield f"  text: {raw[hit['start'] : hit['end']].decode(errors='replace')[:900]!r}"
        yield f"  item: {texts[hit['bench'], hit['item']][:900]!r}"
    if not one.hits:
        yield f"  prompt: {one.case.prompt[:900]!r}"
        yield from (f"  item: {texts[own][:900]!r}" for own in sorted(one.case.items)[:1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile", choices=("evidence", "paper"))
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--missed", default="")
    options = parser.parse_args()
    benchmarks = tuple(benchmark(name) for name in FILES)
    texts = {(bench.name, item.index): item.text for bench in benchmarks for item in bench.items}
    corpus = cases(benchmarks)
    for name in [options.profile] if options.profile else ["evidence", "paper"]:
        begun, cpu = time.perf_counter(), time.process_time()
        index = build(benchmarks, profile(name))
        built = time.perf_counter() - begun
        found = judged(index, corpus)
        kinds = by_kind(found)
        print(
            f"\n{index.profile.label}: {len(corpus):,} documents, index {built:.1f} s, in all "
            f"{time.perf_counter() - begun:.1f} s ({time.process_time() - cpu:.1f} s of CPU)"
        )
        print("\n".join(table(kinds)))
        among, first = items_right(kinds)
        print(f"items right: {100 * among:.1f} % among, {100 * first:.1f} % first")
        print(
            "clean and dropped:", dict(Counter(o.verdict for o in kinds["clean"] if o.is_dropped))
        )
        flagged = [one for one in kinds["clean"] if one.is_dropped]
        flagged.sort(key=lambda one: one.hits[0]["strength"])
        step = max(1, len(flagged) // max(1, options.show))
        missed = [one for one in kinds.get(options.missed, ()) if not one.is_dropped]
        for one in [*flagged[::step][: options.show], *missed]:
            print("\n".join(_side_by_side(one, texts)))


if __name__ == "__main__":
    main()
