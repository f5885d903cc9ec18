"""Tests that are code: every form of assertion is decided away from the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vtdata.verify.code.plain_sandbox import PlainSandbox
from tests.vtdata.verify.code.test_judge import judge

BENCHMARKS = Path(__file__).parents[4] / ".." / "shared" / "benchmarks"


@pytest.mark.parametrize(
    ("program", "test"),
    [
        ("def f(x): return (x, [x])", "assert f(1) == (1, [1])"),
        ("def f(x): return x / 3", "assert abs(f(1) - 0.3333333) < 1e-6"),
        ("def f(x): return x / 3", "import math\nassert math.isclose(f(1), 0.333333333333)"),
        ("def f(x): return x > 1", "assert not f(1) and f(2)"),
        ("def f(x): return None", "assert f(1) is None"),
        ("def f(x): return [3, x, 2]", "assert sorted(f(1)) == [1, 2, 3]"),
        ("def f(x): return [2, x, 2]", "assert set(f(1)) == {1, 2}"),
        ("def f(x): return 2", "assert f(1) in (2, 3)"),
        ("def f(x): return x + 1", "assert f(f(f(1))) == 4"),
        ("def f(x): return x + 1", "assert f(f(1) + 1) == 4"),
        ("def f(x): return x + 1", "for n in range(40):\n    assert f(n) == n + 1"),
        ("def f(x): return (n * n for n in range(x))", "assert list(f(3)) == [0, 1, 4]"),
        ("def f(x): x.append(1)", "a = [0]\nf(a)\nassert a == [0, 1]"),
        (
            "def f(x): raise ValueError('no')",
            "try:\n    f(1)\nexcept ValueError:\n    pass\nelse:\n    assert 0",
        ),
        ("def sum(a, b): return a * b", "assert sum(2, 3) == 6"),
        ("class P:\n    def __init__(s, a): s.a = a\ndef f(p): return p.a", "assert f(P(3)) == 3"),
        ("class S:\n    def f(self, x): return x + 1", "assert S().f(1) == 2"),
        ("class S:\n    n = 5", "assert S().n == 5"),
        ("def f(x, *, y=1): return x + y", "assert f(1, y=3) == 4"),
        (
            "def f(x): return {x: {1.5, 2}}",
            "import random\nn = random.randint(0, 9)\nassert f(n) == {n: {2, 1.5}}",
        ),
        (
            "def enc(x): return x[::-1]\ndef dec(x): return x[::-1]",
            "assert dec(enc('abc')) == 'abc'",
        ),
    ],
)
def test_right_programs_pass(program: str, test: str) -> None:
    found = judge(program, {"test_list": [test]})
    assert (found.reward, found.reason, found.detail) == (1.0, "correct", "")


@pytest.mark.parametrize(
    ("program", "test", "reason"),
    [
        ("def f(x): return [x, [x]]", "assert f(1) == (1, [1])", "wrong_answer"),
        (
            "def f(x): return x",
            "for n in range(40):\n    assert f(n) == min(n, 38)",
            "wrong_answer",
        ),
        ("def f(x): return x", "assert f(f(1)) == 2", "wrong_answer"),
        ("def g(x): return x", "assert f(1) == 1", "wrong_answer"),
        ("def f(x): 1/0", "assert f(1) == 1", "wrong_answer"),
        ("1/0", "assert f(1) == 1", "runtime_error"),
        ("def f(x):\n    while True: pass", "assert f(1) == 1", "time_limit"),
        ("def f(x): return x\ndef abs(x): return 0", "assert abs(f(1) - 3) < 1e-6", "wrong_answer"),
        ("def f(x): return x\ndef len(x): return 3", "assert len(f([1])) == 3", "wrong_answer"),
    ],
)
def test_wrong_programs_do_not(program: str, test: str, reason: str) -> None:
    from vtdata.sandbox import Limits

    found = judge(program, {"test_list": [test]}, limits=Limits(cpu_s=1.0))
    assert (found.reward, found.reason, found.passed) == (0.0, reason, 0)


@pytest.mark.parametrize(
    "test", ["import no_such_module", "assert 1 == 1", "assert f(", "raise ValueError"]
)
def test_a_test_that_fails_by_itself_decides_nothing(test: str) -> None:
    found = judge("def f(x): return x", {"test_list": [test]})
    assert (found.reward, found.reason) == (None, "bad_tests")


def test_what_can_not_be_asked_from_outside_is_weak_evidence() -> None:
    test = {"test_list": ["assert f(lambda x: x + 1) == 3"]}
    right, wrong = "def f(g): return g(2)", "def f(g): return g(3)"
    found = judge(right, test)
    assert (found.reward, found.reason) == (None, "weak_evidence")
    assert judge(right, test, weak=True).reward == 1.0
    assert judge(wrong, test, weak=True).reason == "wrong_answer"


def test_what_a_program_answers_never_leads_to_weak_evidence() -> None:
    program = "class Same:\n    def __eq__(self, o): return True\ndef f(x): return Same()"
    found = judge(program, {"test_list": ["assert f(1) == f(2) == 3"]}, weak=True)
    assert (found.reward, found.reason) == (0.0, "wrong_answer")


def test_the_first_calls_are_found_once_for_all_programs() -> None:
    sandbox = PlainSandbox()
    test = {"test_list": ["assert f(4711) == 4711"]}
    judge("def f(x): return x", test, sandbox=sandbox)
    assert len(sandbox.sources) == 3
    judge("def f(x): return 4711", test, sandbox=sandbox)
    assert len(sandbox.sources) == 5


def rows(name: str) -> list[dict[str, Any]]:
    path = BENCHMARKS / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"{name}.jsonl is not beside this checkout")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("at", [0, 22, 32, 38, 50, 53, 137, 162])
def test_humaneval_takes_its_own_solutions(at: int) -> None:
    row = rows("humaneval")[at]
    for program in (row["canonical_solution"], row["prompt"] + row["canonical_solution"]):
        assert judge(program, row).reason == "correct"
    nothing = row["prompt"] + "    return None\n"
    assert judge(nothing, row).reward == 0.0


@pytest.mark.parametrize("number", [1, 2, 6, 126, 261])
def test_mbpp_takes_its_own_solutions(number: int) -> None:
    row = next(row for row in rows("mbpp") if row["task_id"] == number)
    found = judge(row["code"], row)
    assert (found.reason, found.passed) == ("correct", 3)
