from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.shards.spread import Item, Spread


def spread(queries: str, max_rows: int = 256, max_bytes: int = 1000) -> str:
    order = Spread(max_rows=max_rows, max_bytes=max_bytes)
    out: list[Item] = []
    for index, query in enumerate(queries):
        order.push(Item(query, 1, index))
        out.extend(order.ready())
    return "".join(item.query for item in [*out, *order.finish()])


def adjacent(queries: str) -> int:
    return sum(a == b for a, b in itertools.pairwise(queries))


@pytest.mark.parametrize(
    ("queries", "placed"),
    [
        ("", ""),
        ("abc", "abc"),
        ("aab", "aba"),
        ("abb", "bab"),  # the last one goes back into a gap
        ("bcaa", "baca"),
        ("aaab", "abaa"),  # can't be avoided
        ("aaa", "aaa"),
    ],
)
def test_order(queries: str, placed: str) -> None:
    assert spread(queries) == placed


@given(st.text("abcd", max_size=60))
def test_nothing_is_lost_and_nothing_adjacent_that_need_not_be(queries: str) -> None:
    placed = spread(queries)
    counts = Counter(queries)
    assert Counter(placed) == counts
    most = max(counts.values(), default=0)
    assert adjacent(placed) == max(0, 2 * most - len(queries) - 1)


@given(st.text("ab", max_size=60), st.integers(1, 5))
def test_bounded_queues_lose_nothing(queries: str, max_rows: int) -> None:
    assert Counter(spread(queries, max_rows)) == Counter(queries)


def test_a_gap_behind_what_has_gone_out_is_none() -> None:
    assert spread("qbqq", max_rows=1) == "qbqq"


@pytest.mark.parametrize("queries", ["aabb" * 10, "cd" * 20 + "aa"])
def test_bytes_are_given_back_to_both_queues(queries: str) -> None:
    assert adjacent(spread(queries, max_bytes=4)) == 0


def test_one_query_alone_comes_through_in_bounded_memory() -> None:
    order, out = Spread(max_rows=4), 0
    for index in range(100):
        order.push(Item("a", 1, index))
        out += len(list(order.ready()))
        assert index + 1 - out <= 4 + 2 * 4 + 1
    assert out + len(order.finish()) == 100


def test_carry_numbers_what_waits_from_0() -> None:
    order = Spread()
    for index, query in enumerate("aabcc", 10):
        order.push(Item(query, 1, index))
    assert order.carry() == [10, 12, 11, 13, 14]  # as placed, then what is held
    assert [item.index for item in order.finish()] == [0, 1, 4, 2, 3]
