"""Find and drop what the benchmarks already ask."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from vtdata.decontam.candidate import DROPPED, UNFINDABLE
from vtdata.decontam.dates import bounds
from vtdata.decontam.deny import benchmarks_of, facts_of, index_of, local_files, refresh
from vtdata.decontam.marks import COLUMN, MARKS, ROWS, TABLE, hits_of, mark, row
from vtdata.decontam.profile import Profile, profile
from vtdata.decontam.queries import Text, prompt_texts, response_texts
from vtdata.errors import ConfigError
from vtdata.records import Query
from vtdata.steps import Batched, Context, step
from vtdata.text import nearest

REASON = "contaminated"

Verdict = Literal["exact", "near", "short_exact", "template", "suspect"]


def _dropped() -> list[Verdict]:
    return list(DROPPED)


@step
class Decontaminate(Batched):
    """Drop queries and rollouts that hold an item of a benchmark; mark what comes near one.

    A hit in the prompt (any turn, the options, the starter code) drops the query; one in a
    response, thoughts included, drops that rollout. Classes that are not in ``drop`` are reported:
    ``template`` is an item in other numbers, ``suspect`` may be one in other words (see
    ``judge_suspects``). May stand in a block of any kind; behind ``sample`` it sees responses.

    A step that needs the marked queries themselves, as near-duplicates of them, stands behind
    this one with ``drop: []``, which marks alone.

    Writes ``contamination``, the marks (empty: scanned, and nothing found). Logs the table
    ``contamination``: a row for each hit with both texts and the figures; of gated benchmarks no
    text of an item. Notes hits by benchmark and class, and
    items that no rule can find (``unfindable``): of too few words, or none but instructions. The
    index is made once in each worker: some
    1 ms an item.

    Drops queries and rollouts: ``contaminated``.

    Raises:
        ConfigError: no benchmark is named, or one can't be loaded; a wrong profile or threshold.

    Source: 1.5B p.7 (10-grams; profile ``paper``); the profile ``evidence`` is ours.
    """

    against: list[str]
    """Benchmarks: names of ``vtdata benchmarks list``, files (``./mine.jsonl``,
    ``./mine.jsonl:question``), or ``owner/name@commit`` on the Hub."""
    profile: Literal["evidence", "paper"] = "evidence"
    """How a hit is told (ours); ``paper`` takes any shared 10-gram for one (1.5B p.7)."""
    drop: list[Verdict] = Field(default_factory=_dropped)
    """Classes that are dropped; the others are reported (ours: exact, near, short_exact)."""
    thresholds: dict[str, float] = Field(default_factory=dict)
    """Thresholds of the profile that differ, such as ``near_share: 0.8``."""
    released: dict[str, str] = Field(default_factory=dict)
    """When teachers were released, by model id, where vtdata doesn't know: for the row's date."""

    gives = (COLUMN,)
    writes: ClassVar[dict[str, pa.DataType]] = {COLUMN: MARKS}
    tables: ClassVar[dict[str, pa.Schema]] = {TABLE: ROWS}
    reasons = (REASON,)

    def __post_init__(self) -> None:
        if not self.against:
            raise ConfigError(
                "against names no benchmark, so nothing would be found: name at least one; "
                "'vtdata benchmarks list' shows the names"
            )
        for day in self.released.values():
            bounds(day)
        self._profile()

    def _profile(self) -> Profile:
        settings = profile(self.profile).thresholds
        known = [name for name, value in settings.items() if isinstance(value, float)]
        for name in self.thresholds:
            if name not in known:
                raise ConfigError(
                    f"profile '{self.profile}' has no threshold '{name}';{nearest(name, known)} "
                    f"there is: {', '.join(known)}"
                )
        return profile(self.profile, **self.thresholds)

    def files(self, folder: Path) -> list[Path]:
        return local_files(self.against, folder)

    def resolved(self, folder: Path) -> dict[str, Any]:
        found = refresh(self.against, folder)
        own = self._profile()
        return {
            "benchmarks": [facts_of(bench) for bench in found.values()],
            "profile": {"label": own.label, "hash": own.hash, "drop": list(self.drop)},
        }

    def open(self, ctx: Context) -> None:
        refresh(self.against, ctx.folder)
        index = index_of(self.against, ctx.folder, self._profile())
        if ctx.rank == 0:  # counts of ranks are added up
            for name, count in Counter(name for name, _ in index.without_evidence).items():
                ctx.note(f"{name} {UNFINDABLE}", count)

    def process(self, queries: Sequence[Query], ctx: Context) -> None:
        found: dict[int, list[dict[str, Any]]] = defaultdict(list)
        asked = [text for at, query in enumerate(queries) for text in prompt_texts(query, at)]
        for hit in self._hits(queries, asked, ctx):
            found[hit["row"]].append(hit)
        clean = {at for at in range(len(queries)) if not any(map(self._counts, found.get(at, ())))}
        said = [text for at in sorted(clean) for text in response_texts(queries[at], at)]
        for hit in self._hits(queries, said, ctx):
            found[hit["row"]].append(hit)
        for at, query in enumerate(queries):
            mark(query, found[at])
            for hit in found[at]:
                ctx.log(TABLE, row(query, hit, self._settle(query, hit)))
        counts = Counter(
            f"{hit['bench']} {hit['verdict']}" for own in found.values() for hit in own
        )
        for name, count in counts.items():
            ctx.note(name, count)

    def _hits(
        self, queries: Sequence[Query], texts: Sequence[Text], ctx: Context
    ) -> list[dict[str, Any]]:
        index = index_of(self.against, ctx.folder, self._profile())
        benchmarks = benchmarks_of(self.against, ctx.folder)
        return hits_of(queries, texts, index, benchmarks, self.released)

    def _counts(self, hit: dict[str, Any]) -> bool:
        return hit["verdict"] in self.drop

    def _settle(self, query: Query, hit: dict[str, Any]) -> str:
        """Drop what a hit drops, the strongest first, and say what became of it."""
        if not self._counts(hit):
            return "reported"
        if hit["rollout"] is None:
            why = "{verdict}: item {item} of {bench}, in {field}".format(**hit)
            query.drop("decontaminate", REASON, why)
            return "query dropped"
        query.rollouts[hit["rollout"]].drop("decontaminate", REASON)
        return "rollout dropped"
