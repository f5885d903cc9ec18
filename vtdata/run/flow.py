"""How queries flow through the steps of a segment, one query at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from vtdata.corpora.unite import unite
from vtdata.errors import DataError, RunError, Stopped, VtdataError
from vtdata.recipe.plan import PlannedStep
from vtdata.records import Query, size_of
from vtdata.run.books import Before, Books, before, settle
from vtdata.run.tables import Tables
from vtdata.steps import Async, Batched, Context, Global, Keep, Map
from vtdata.steps import Source as SourceStep

Reject = Callable[[Query], None]

BATCH_QUERIES = 512
"""A batched step sees at most so many queries at a time (ours)."""
BATCH_BYTES = 8 * 2**20
"""And no more once they take so many bytes (ours)."""


@dataclass(slots=True)
class Station:
    """A step at work in one rank, with its books."""

    planned: PlannedStep
    books: Books
    ctx: Context

    @property
    def name(self) -> str:
        return self.planned.name

    @property
    def waits(self) -> bool:
        return isinstance(self.planned.step, Async)

    @property
    def batches(self) -> bool:
        return isinstance(self.planned.step, Batched)

    def handle_some(self, queries: list[Query]) -> None:
        """Let a batched step see queries."""
        was = [before(query) for query in queries]
        step = self.planned.step
        assert isinstance(step, Batched)
        try:
            step.process(queries, self.ctx)
        except VtdataError:
            raise
        except Exception as error:
            error.add_note(f"in step '{self.name}' ({self.planned.target})")
            raise
        for one, query in zip(was, queries, strict=True):
            settle(self.books, [one], [query], self.name)

    def handle(self, query: Query) -> list[Query]:
        """Let a per-query step see a query."""
        was = before(query)
        step = self.planned.step
        try:
            if isinstance(step, Keep):
                reason = step.why_drop(query, self.ctx)
                if reason is not None:
                    query.drop(self.name, self._checked(reason))
                now = [query]
            elif isinstance(step, Map):
                now = step.process(query, self.ctx)
            else:
                raise RunError(f"step '{self.name}' is neither Map nor Keep")
        except DataError as error:
            now = self._set_aside(query, error)
        except VtdataError:
            raise
        except Exception as error:
            self._tell(query, error)
            raise
        return self.settle([was], now)

    def _tell(self, query: Query, error: Exception) -> None:
        error.add_note(f"in step '{self.name}' ({self.planned.target}), query {query.id}")

    async def wait(self, query: Query) -> list[Query]:
        """Let an async step see a query."""
        was = before(query)
        step = self.planned.step
        assert isinstance(step, Async)
        try:
            now = await step.process(query, self.ctx)
        except DataError as error:
            now = self._set_aside(query, error)
        return self.settle([was], now)

    def _set_aside(self, query: Query, error: DataError) -> list[Query]:
        query.drop(self.name, error.reason, error.detail or None)
        return [query]

    def _checked(self, reason: object) -> str:
        if not isinstance(reason, str) or not reason:
            raise RunError(
                f"step '{self.name}': why_drop returned {reason!r}: return a reason, or None to "
                "keep the query"
            )
        return reason

    def settle(self, was: list[Before], now: list[Query]) -> list[Query]:
        if not isinstance(now, list):
            raise RunError(
                f"step '{self.name}' returned {type(now).__name__} for query {was[0].id}: return "
                "the list of queries that it was given and made"
            )
        if len(now) > len(was):
            self._check_made(was, now)
        settle(self.books, was, now, self.name)
        return now

    def _check_made(self, was: list[Before], now: list[Query]) -> None:
        """What a step made must be united with what has the same id, in the bucket of its id."""
        if not self.planned.step.creates:
            raise RunError(
                f"step '{self.name}' made {len(now) - len(was)} queries of query {was[0].id}, and "
                "does not say so: set 'creates = True' in its class"
            )
        if len({id(query) for query in now}) < len(now):
            raise RunError(
                f"step '{self.name}' returned one query twice for {was[0].id}: return each once"
            )
        for query in now:
            query.renamed()


def station(planned: PlannedStep, ctx: Context, tables: Tables | None = None) -> Station:
    """Give a step its books and a context that notes into them, and logs into ``tables``."""
    books = Books()
    log = tables.logger(planned) if tables else ctx.log
    return Station(planned, books, dataclasses.replace(ctx, note=books.note, log=log))


def from_sources(stations: Iterable[Station], reject: Reject) -> Iterator[Query]:
    """Read the sources of a corpora block one after the other."""
    for at in stations:
        step = at.planned.step
        assert isinstance(step, SourceStep)
        for query in step.read(at.ctx):
            settle(at.books, [], [query], at.name)
            if query.live:
                yield query
            else:
                reject(query)


def united(at: Station, stream: Iterable[Query], reject: Reject) -> Iterator[Query]:
    """Make one query of those with equal ids; the stream is sorted, so they are neighbors."""
    for _, group in groupby(stream, key=lambda query: query.id):
        queries = list(group)
        was = [before(query) for query in queries]
        if len(queries) > 1:
            queries = unite(queries)
        for query in at.settle(was, queries):
            if query.live:
                yield query
            else:
                reject(query)


def applied(
    at: Station, stream: Iterable[Query], decision: dict[str, dict[str, Any]], reject: Reject
) -> Iterator[Query]:
    """Apply a global step's decision."""
    step = at.planned.step
    assert isinstance(step, Global)
    for query in stream:
        was = before(query)
        step.apply(query, decision.get(query.id), at.ctx)
        at.settle([was], [query])
        if query.live:
            yield query
        else:
            reject(query)


def advance(stations: list[Station], query: Query, reject: Reject) -> Iterator[Query]:
    """Take a query, and what is made of it, through per-query steps."""
    pending = [(query, 0)]
    while pending:
        current, position = pending.pop()
        if current.dropped_by is not None:
            reject(current)
        elif position == len(stations):
            yield current
        else:
            made = stations[position].handle(current)
            pending.extend((new, position + 1) for new in reversed(made))


def through(stations: list[Station], stream: Iterable[Query], reject: Reject) -> Iterator[Query]:
    """Take a stream through per-query and batched steps."""
    for batches, group in groupby(stations, key=lambda at: at.batches):
        if batches:
            for at in group:
                stream = batched(at, stream, reject)
        else:
            stream = one_by_one(list(group), stream, reject)
    yield from stream


def one_by_one(stations: list[Station], stream: Iterable[Query], reject: Reject) -> Iterator[Query]:
    """Take a stream through per-query steps."""
    for query in stream:
        for position, at in enumerate(stations):
            made = at.handle(query)
            if len(made) > 1 or query.dropped_by is not None:
                for new in made:
                    yield from advance(stations[position + 1 :], new, reject)
                break
        else:
            yield query


def batched(at: Station, stream: Iterable[Query], reject: Reject) -> Iterator[Query]:
    """Take a stream through a batched step; holds one batch."""
    held: list[Query] = []
    size = 0
    for query in chain(stream, [None]):
        if held and (query is None or len(held) == BATCH_QUERIES or size >= BATCH_BYTES):
            at.handle_some(held)
            for seen in held:
                if seen.live:
                    yield seen
                else:
                    reject(seen)
            held, size = [], 0
        if query is not None:
            held.append(query)
            size += size_of(query)


def heeding(stream: Iterable[Query], ctx: Context) -> Iterator[Query]:
    """Pass a stream on until the run is asked to stop."""
    for query in stream:
        if ctx.stopping():
            raise Stopped("the run was asked to stop")
        yield query
