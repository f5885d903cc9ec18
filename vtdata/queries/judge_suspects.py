"""Let a model say which suspects of decontamination are a benchmark's problems in other words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pyarrow as pa
from pydantic import Field

from vtdata.decontam.benchmark import Benchmark, Item
from vtdata.decontam.deny import benchmarks_of, local_files, refresh
from vtdata.decontam.judging import PROMPT, Ballot, Pair, ask, outcome, requests
from vtdata.decontam.marks import COLUMN, MARKS
from vtdata.decontam.queries import prompt_texts
from vtdata.errors import ConfigError, RunError
from vtdata.llm.prompts import path_of
from vtdata.records import Query
from vtdata.steps import Async, Context, Request, step

REASON = "contaminated_paraphrase"
TABLE = "suspects"
SUSPECTS = pa.schema(
    [
        ("query_id", pa.string()),
        ("field", pa.string()),
        ("benchmark", pa.string()),
        ("item", pa.int32()),
        ("item_field", pa.string()),
        ("first", pa.string()),
        ("label", pa.string()),
        ("outcome", pa.string()),
        ("why", pa.string()),
        ("query_text", pa.string()),
        ("item_text", pa.string()),
        ("item_hash", pa.string()),
        ("state", pa.string()),
        ("tries", pa.int32()),
        ("model", pa.string()),
        ("revision", pa.string()),
        ("request", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
    ]
)

Mark = dict[str, Any]


@step
class JudgeSuspects(Async):
    """Drop a suspect of ``decontaminate`` where a model says that it is an item in other words.

    The model sees the question and the item, without being told which is which, and is asked in
    both orders. Only what it calls the same problem both times is dropped; different answers, no
    answer, or one that can't be read leave the suspect ``undecided``, and in the corpus.

    Reads the marks of ``decontaminate`` of class ``suspect`` that no judge has decided. Writes
    ``judged`` into them: same, different or undecided. Logs the table ``suspects``, a row for each
    reply; no text of gated benchmarks. Notes suspects by outcome, ``too_long`` and
    ``second_tries``. Holds one query in memory.

    Drops: ``contaminated_paraphrase``.

    Raises:
        ConfigError: text of a gated or non-commercial benchmark would be sent without
            ``allow_benchmark_text``; a benchmark can't be loaded.
        RunError: a mark speaks of an item that isn't in these benchmarks.

    Source: ours; both orders as for pairwise judges.
    """

    by: str
    """The entry of the recipe's ``models`` that judges."""
    against: list[str] = Field(default_factory=list)
    """The benchmarks; none: those of the ``decontaminate`` steps before it."""
    allow_benchmark_text: bool = False
    """Whether items of gated and non-commercial benchmarks may be sent to the model."""
    max_chars: Annotated[int, Field(ge=1)] = 20_000
    """Longest text that is shown to the judge, in characters; longer stays undecided (ours)."""

    needs = (COLUMN,)
    writes: ClassVar[dict[str, pa.DataType]] = {COLUMN: MARKS}
    tables: ClassVar[dict[str, pa.Schema]] = {TABLE: SUSPECTS}
    reasons = (REASON,)
    bound = "one more for each reply that can't be read"

    def model_names(self) -> list[str]:
        return [self.by]

    def files(self, folder: Path) -> list[Path]:
        return [path_of(PROMPT), *local_files(self.against, folder)]

    def resolved(self, folder: Path) -> dict[str, Any]:
        found = refresh(self.against, folder)
        closed = [bench.name for bench in found.values() if not bench.shows_text]
        if closed and not self.allow_benchmark_text:
            raise ConfigError(
                f"judge_suspects would send text of {', '.join(closed)} to model '{self.by}', and "
                "it is gated or non-commercial: write 'allow_benchmark_text: true' where its "
                "terms and the model's owner allow that, or judge without it"
            )
        return {"judged_against": {bench.name: bench.sha256 for bench in found.values()}}

    def open(self, ctx: Context) -> None:
        self.resolved(ctx.folder)

    def requests(self, query: Query, ctx: Context) -> list[Request] | None:
        if query.extra.get(COLUMN) is None:
            return None
        benchmarks = benchmarks_of(self.against, ctx.folder)
        pairs = [self._pair(query, one, benchmarks) for one in _open(query)]
        return [
            request
            for pair in pairs
            if pair is not None
            for request in requests(pair, self.by, ctx.seed, query.bucket)
        ]

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        query.extra.setdefault(COLUMN, None)
        await asyncio.gather(*(self._judge(query, one, ctx) for one in _open(query)))
        same = [one for one in query.extra[COLUMN] or () if one["judged"] == "same"]
        if same:
            why = "item {item} of {benchmark} in other words, in {field}".format(**same[0])
            query.drop(PROMPT, REASON, why)
        return [query]

    async def _judge(self, query: Query, one: Mark, ctx: Context) -> None:
        assert ctx.models is not None
        benchmarks = benchmarks_of(self.against, ctx.folder)
        pair = self._pair(query, one, benchmarks)
        ballots: list[Ballot] = []
        if pair is None:
            ctx.note("too_long", 1)
        else:
            ballots = await ask(requests(pair, self.by, ctx.seed, query.bucket), ctx.models)
            if more := sum(ballot.tries - 1 for ballot in ballots):
                ctx.note("second_tries", more)
        one["judged"] = outcome([ballot.label for ballot in ballots])
        ctx.note(one["judged"], 1)
        for ballot in ballots:
            assert pair is not None
            bench = benchmarks[one["benchmark"]]
            ctx.log(TABLE, _row(query, one, pair, ballot, bench))

    def _pair(self, query: Query, one: Mark, benchmarks: Mapping[str, Benchmark]) -> Pair | None:
        """The two texts; None where one is too long to be shown."""
        texts = {text.field: text.text for text in prompt_texts(query)}
        item = _item(one, benchmarks)
        text = texts[one["field"]]
        if max(len(item.text), len(text)) > self.max_chars:
            return None
        return Pair(query.id, text, item.text)


def _open(query: Query) -> Sequence[Mark]:
    marks = query.extra.get(COLUMN) or ()
    return [
        one
        for one in marks
        if one["verdict"] == "suspect" and one["judged"] not in ("same", "different")
    ]


def _item(one: Mark, benchmarks: Mapping[str, Benchmark]) -> Item:
    bench = benchmarks.get(one["benchmark"])
    for item in bench.items if bench else ():
        if (item.index, item.field) == (one["item"], one["item_field"]):
            return item
    raise RunError(
        "a mark speaks of item {item} of '{benchmark}', and judge_suspects knows ".format(**one)
        + f"{', '.join(benchmarks)}: name the benchmarks of 'decontaminate' in 'against'"
    )


def _row(
    query: Query, one: Mark, pair: Pair, ballot: Ballot, bench: Benchmark
) -> dict[str, str | int | None]:
    last, item = ballot.last, _item(one, {bench.name: bench})
    return {
        "query_id": query.id,
        **{name: one[name] for name in ("field", "benchmark", "item", "item_field")},
        "first": ballot.first,
        "label": ballot.label,
        "outcome": one["judged"],
        "why": None if bench.gated and ballot.label else ballot.why,
        "query_text": pair.query,
        "item_text": None if bench.gated else pair.item,
        "item_hash": item.hash,
        "state": last.state,
        "tries": ballot.tries,
        "model": last.model,
        "revision": last.revision,
        "request": last.key,
        "prompt_tokens": last.n_prompt_tokens,
        "completion_tokens": last.n_completion_tokens,
    }
