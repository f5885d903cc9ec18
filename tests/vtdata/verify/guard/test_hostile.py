from __future__ import annotations

import time

import psutil
import pytest

from tests.hostile import HOSTILE
from vtdata.verify.guard import ask, ask_many

LIMIT_S = 0.15


def test_there_are_many_kinds() -> None:
    assert len(HOSTILE) >= 45


def test_every_hostile_pair_is_answered_in_time_and_the_guard_goes_on() -> None:
    ask_many("math", [["1", "1"]] * 2, children=2)
    before = len(psutil.Process().children(recursive=True))
    begin = time.monotonic()
    pairs = [list(pair) for pair in HOSTILE.values()]
    replies = ask_many("math", pairs, limit_s=LIMIT_S, children=2)
    taken = time.monotonic() - begin
    assert {r.reason for r in replies} <= {"ok", "timeout", "memory", "error"}
    late = {name: r for name, r in zip(HOSTILE, replies, strict=True) if r.reason == "timeout"}
    assert {"giant factorial", "high tower", "sum", "a million digits"} <= set(late)
    assert all(r.value is None for r in replies if r.reason != "ok")
    assert all(r.ms < LIMIT_S * 1e3 + 500 for r in replies)
    assert taken < len(pairs) * (LIMIT_S + 0.2)
    right = ask_many("math", [["1/2", "0.5"]] * 2, children=2)
    assert [r.value for r in right] == [{"forward": True, "backward": True}] * 2
    assert len(psutil.Process().children(recursive=True)) == before


@pytest.mark.parametrize("name", ["giant factorial", "a million digits"])
def test_a_hostile_answer_is_no_better_on_the_other_side(name: str) -> None:
    left, right = HOSTILE[name]
    assert ask("math", [right, left], limit_s=LIMIT_S).value is None
