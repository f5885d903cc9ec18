"""How many queries a group of async steps has on their way."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from tests import factories
from vtdata.recipe.plan import PlannedStep
from vtdata.records import Query
from vtdata.run.flow import station
from vtdata.run.fused import Loop, _Window, fused
from vtdata.steps import Async, Context, Request, step

SLOTS = 8
_state: dict[str, int] = {}


def calls_of(query: Query) -> int:
    return int(query.domain)


@step
class Varied(Async):
    """Asks as often as the query's domain says, and ends when all slots were busy at once."""

    bound = "it varies"

    def requests(self, query: Query, ctx: Context) -> list[Request]:
        return [Request("m", (), number, 0) for number in range(calls_of(query))]

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        calls = calls_of(query)
        if not calls or _state["first"]:
            _state["first"] = 0  # the first query is done at once, so that a result is there
            return [query]
        _state["waiting"] += calls
        _state["most"] = max(_state["most"], _state["waiting"])
        for _ in range(100):
            if _state["most"] >= SLOTS:
                break
            await asyncio.sleep(0.01)
        _state["waiting"] -= calls
        return [query]


@contextmanager
def looping() -> Generator[Loop]:
    loop = Loop()
    try:
        yield loop
    finally:
        loop.close()


@pytest.mark.parametrize("first", [0, 1, 48])
def test_slots_are_full_whatever_the_first_query_asks(first: int) -> None:
    _state.update(first=1, waiting=0, most=0)
    counts = [first, *([0] * 9 + [1]) * 30]
    stream = (
        factories.query(domain=str(count), question=f"{n}?") for n, count in enumerate(counts)
    )
    stations = [station(PlannedStep("varied", Varied(), "own:Varied"), Context(seed=1))]
    with looping() as loop:
        out = fused(
            stations,
            stream,
            lambda query: None,
            loop=loop,
            slots=SLOTS,
            check=lambda: None,
            stopping=lambda: False,
        )
        assert len(list(out)) == len(counts)
    assert SLOTS <= _state["most"] <= 4 * SLOTS + 2


@pytest.mark.parametrize("has_result", [False, True])
@pytest.mark.parametrize(
    ("slots", "calls", "first", "later"), [(32, 8, 6, 18), (32, 5, 8, 27), (8, 100, 2, 2)]
)
def test_the_window_holds_two_queries_more_than_fill_the_slots(
    slots: int, calls: int, first: int, later: int, *, has_result: bool
) -> None:
    window = _Window(slots, has_result=has_result)
    while window.has_room:
        window.enter(Future(), calls)
    assert len(window.futures) == (later if has_result else first)
    window.leave(next(iter(window.futures)))
    assert window.has_room
