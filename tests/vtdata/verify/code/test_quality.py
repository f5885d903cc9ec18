"""Tests are scored by right programs, wrong ones and mutants."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.vtdata.verify.code.plain_sandbox import PlainSandbox
from vtdata.verify.code import read_tests
from vtdata.verify.code.mutants import mutants
from vtdata.verify.code.quality import TestScore, score_tests

RIGHT = """
def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x
"""
GOOD = {
    "inputs": [[5, 0, 3], [-1, 0, 3], [2, 0, 3], [0, 0, 3], [3, 0, 3]],
    "outputs": [3, 0, 2, 0, 3],
    "fn_name": "clamp",
}


def score(
    tests: dict[str, Any], accepted: list[str], rejected: list[str], **more: Any
) -> TestScore:
    found = score_tests(read_tests(tests), accepted, rejected, PlainSandbox(), **more)
    return asyncio.run(found)


def test_good_tests_find_wrong_programs() -> None:
    wrong = "def clamp(x, low, high): return min(x, high)"
    found = score(GOOD, [RIGHT], [wrong, RIGHT], min_killed=0.6)
    assert (found.reason, found.accepted, found.known, found.known_killed) == ("good", 1, 2, 1)
    assert found.mutants == 7  # two comparisons, two conditions, three returns
    assert found.mutants_killed == 5  # with x == low it doesn't matter which is returned


def test_weak_tests_are_found_out() -> None:
    weak = {**GOOD, "inputs": [[2, 0, 3]], "outputs": [2]}
    found = score(weak, [RIGHT], [])
    assert found.reason == "weak_tests"
    assert found.killed == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    ("accepted", "reason"),
    [([], "unverified"), (["def clamp(x, low, high): return x"], "bad_reference")],
)
def test_without_a_right_program_they_are_not_verified(accepted: list[str], reason: str) -> None:
    assert score(GOOD, accepted, []).reason == reason


def test_nothing_to_change_is_nothing_to_score() -> None:
    tests = {"inputs": ["a\n"], "outputs": ["a\n"]}
    assert score(tests, ["print(input())"], []).reason == "no_wrong_programs"


def test_mutants_are_the_same_every_time_and_parse() -> None:
    program = RIGHT * 5
    found = mutants(program, 12)
    assert found == mutants(program, 12)
    assert len(set(found)) == 12
    for text in found:
        compile(text, "mutant", "exec")
    assert mutants("def broken(:", 5) == []
