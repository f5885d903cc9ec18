"""Adjacent async steps as one pipeline step: one event loop, output in completion order.

Yielding in input order keeps 30 % of the slots busy under heavy-tailed latencies; completion
order with a window of four times the slots keeps all of them busy. The window is bounded by bytes
as well, measured on what came out so far, so that long traces don't fill the memory.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from vtdata.errors import RunError, Stopped, VtdataError
from vtdata.records import Query, size_of
from vtdata.run.flow import Reject, Station
from vtdata.steps import Async

WINDOW_PER_SLOT = 4
"""Calls asked for per slot (simulated with heavy-tailed latencies; ours)."""
WINDOW_BYTES = 96 * 2**20
"""Bytes that may be in flight and waiting to be written (ours)."""
GRACE_S = 20.0
"""How long calls in flight may still finish once their rank ends early (ours)."""
GLANCE_S = 0.5
"""How often a wait for calls looks whether the run was asked to stop (ours)."""


class Loop:
    """An event loop in a thread of its own, with what must live on it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="vtdata-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(_quiet_about_ours)
        self._loop.run_forever()

    def call(self, awaitable: Awaitable[object]) -> object:
        """Run to the end and return the result."""
        return asyncio.run_coroutine_threadsafe(_as_coroutine(awaitable), self._loop).result()

    def start(self, awaitable: Awaitable[object]) -> Future[object]:
        return asyncio.run_coroutine_threadsafe(_as_coroutine(awaitable), self._loop)

    def enter(self, manager: AbstractAsyncContextManager[object]) -> object:
        return self.call(manager.__aenter__())

    def leave(self, manager: AbstractAsyncContextManager[object]) -> None:
        """Let calls in flight finish, so that what was paid for is stored, but not for ever."""
        leaving = self.start(manager.__aexit__(None, None, None))
        try:
            leaving.result(timeout=GRACE_S)
        except TimeoutError:
            leaving.cancel()
            late = RunError(f"calls did not end within {GRACE_S:g} s")
            self.call(manager.__aexit__(RunError, late, None))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _quiet_about_ours(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The first error of ours ends the rank; that others met the same is no news."""
    if not isinstance(context.get("exception"), VtdataError):
        loop.default_exception_handler(context)


async def _as_coroutine(awaitable: Awaitable[object]) -> object:
    return await awaitable


@dataclass(slots=True)
class _Window:
    """How many queries may be on their way.

    A query that causes many calls fills many slots, so the window counts calls. Before the first
    result, nobody knows how long answers are: then the slots are filled once and no more.
    """

    slots: int
    calls: int = 0
    """Of the queries inside."""
    last: int = 1
    """Calls of the query that came last."""
    typical_bytes: float = 16 * 1024
    has_result: bool = False
    futures: dict[Future[object], int] = field(default_factory=dict)
    """Queries inside, with their calls."""

    @property
    def has_room(self) -> bool:
        per_slot = WINDOW_PER_SLOT if self.has_result else 1
        # Two more than fit: one that rounds up, one that fills slots at a query's end.
        if self.calls - self.last > per_slot * self.slots:
            return False
        inside = len(self.futures)
        return inside == 0 or (inside + 1) * self.typical_bytes <= WINDOW_BYTES

    def enter(self, future: Future[object], calls: int) -> None:
        self.futures[future] = self.last = calls
        self.calls += calls

    def leave(self, future: Future[object]) -> None:
        self.calls -= self.futures.pop(future)
        self.has_result = True

    def learn(self, size: int) -> None:
        """Follow growth at once and shrinkage slowly."""
        self.typical_bytes = max(size, self.typical_bytes * 0.95 + size * 0.05)


class _Weigh:
    """How many calls the first async step makes for a query.

    Where ``requests`` are what is surely asked, those of the first query stand for all: building
    them for each would double that work. Where they are a bound, one query may cause many and the
    next none.
    """

    def __init__(self, stations: list[Station]) -> None:
        self._at = next(at for at in stations if at.waits)
        self._known = 0

    def __call__(self, query: Query) -> int:
        step = self._at.planned.step
        assert isinstance(step, Async)
        if not self._known or step.bound is not None:
            self._known = max(1, len(step.requests(query, self._at.ctx) or ()))
        return self._known


def fused(
    stations: list[Station],
    stream: Iterable[Query],
    reject: Reject,
    *,
    loop: Loop,
    slots: int,
    check: Callable[[], None],
    stopping: Callable[[], bool],
) -> Iterator[Query]:
    """Take a stream through async steps and the per-query steps between them.

    Args:
        stations: the steps, at least one of them async.
        stream: read as the window allows.
        reject: gets what the steps reject.
        loop: where the calls are made.
        slots: calls that may be in flight in this worker.
        check: raises when too many calls have failed.
        stopping: whether the run was asked to end.

    Raises:
        Stopped: the run was asked to stop; what is in flight goes on until ``Loop.leave``.
    """
    window, weigh = _Window(slots), _Weigh(stations)
    done: queue.SimpleQueue[Future[object]] = queue.SimpleQueue()
    source = iter(stream)
    exhausted = False
    try:
        while True:
            while not exhausted and window.has_room:
                query = next(source, None)
                if query is None:
                    exhausted = True
                    break
                window.learn(size_of(query))
                calls = weigh(query)  # before it is worked on
                future = loop.start(_advance(stations, query))
                window.enter(future, calls)
                future.add_done_callback(done.put)
            if not window.futures:
                return
            future = _next_done(done, stopping)
            window.leave(future)
            for query in _result(future):
                window.learn(size_of(query))
                if query.live:
                    yield query
                else:
                    reject(query)
            check()
    finally:
        for future in window.futures:
            future.cancel()


def fatal_first(stream: Iterable[Query], fatal: Callable[[], Exception | None]) -> Iterator[Query]:
    """Pass a stream on; where an error asked the run to stop, that error ends it and no stop."""
    try:
        yield from stream
    except Stopped as stopped:
        if (first := fatal()) is not None:
            raise first from stopped
        raise


def _next_done(
    done: queue.SimpleQueue[Future[object]], stopping: Callable[[], bool]
) -> Future[object]:
    """Wait for a query, but not for a server that hangs while the run is asked to end."""
    while True:
        try:
            return done.get(timeout=GLANCE_S)
        except queue.Empty:
            if stopping():
                raise Stopped("the run was asked to stop") from None


def _result(future: Future[object]) -> list[Query]:
    result = future.result()
    assert isinstance(result, list)
    return result


async def _advance(stations: list[Station], query: Query, position: int = 0) -> list[Query]:
    if position == len(stations) or not query.live:
        return [query]
    at = stations[position]
    made = await at.wait(query) if at.waits else at.handle(query)
    if len(made) == 1:
        return await _advance(stations, made[0], position + 1)
    rest = await asyncio.gather(*(_advance(stations, new, position + 1) for new in made))
    return [item for group in rest for item in group]
