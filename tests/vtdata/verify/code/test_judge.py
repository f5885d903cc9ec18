"""Judging programs for real: hacks gain nothing, honest programs pass, outages decide nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.vtdata.verify.code.plain_sandbox import PlainSandbox
from tests.vtdata.verify.code.programs import CALL_HACKS, DIVIDES, HONEST, TEXT_HACKS
from vtdata.sandbox import Limits, Outcome
from vtdata.verify.code import Judged, judge_program, read_tests
from vtdata.verify.code.finding import Finding
from vtdata.verify.code.judge import closed

ADD = {"inputs": ["5\n9\n", "20\n22\n"], "outputs": ["14\n", "42\n"]}
DOUBLE = {"inputs": [[4], [5]], "outputs": [8, 10], "fn_name": "double"}


def judge(program: str, tests: dict[str, Any], **options: Any) -> Judged:
    sandbox = options.pop("sandbox", None) or PlainSandbox()
    return asyncio.run(judge_program(program, read_tests(tests), sandbox, **options))


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs_pass(name: str) -> None:
    found = judge(HONEST[name], ADD)
    assert (found.reward, found.reason, found.passed, found.total) == (1.0, "correct", 2, 2)
    assert found.isolation == "none"


def test_more_digits_than_expected_pass() -> None:
    assert judge(DIVIDES, {"inputs": ["1\n3\n"], "outputs": ["0.3333333333\n"]}).reward == 1.0
    assert judge(DIVIDES, {"inputs": ["1\n3\n"], "outputs": ["0.33334\n"]}).reward == 0.0


@pytest.mark.parametrize("name", CALL_HACKS)
def test_hacks_of_a_function_gain_nothing(name: str) -> None:
    assert judge("def double(x): return 2 * x", DOUBLE).reward == 1.0
    found = judge(CALL_HACKS[name], DOUBLE)
    assert (found.reward, found.passed) == (0.0, 0)
    asserts = {"test_list": ["assert double(4) == 8", "assert double(5) == 10"]}
    for weak in (False, True):
        found = judge(CALL_HACKS[name], asserts, weak=weak)
        assert (found.reward, found.passed) == (0.0, 0)


@pytest.mark.parametrize("name", TEXT_HACKS)
def test_hacks_of_a_program_gain_nothing(name: str) -> None:
    found = judge(TEXT_HACKS[name], ADD)
    assert (found.reward, found.passed) == (0.0, 0)


def test_expected_outputs_never_enter_the_programs_sandbox() -> None:
    sandbox = Recorder()
    judge("def double(x): return 2 * x", {**DOUBLE, "outputs": [424243, 424243]}, sandbox=sandbox)
    judge(HONEST["input"], {**ADD, "outputs": ["424243", "424243"]}, sandbox=sandbox)
    asserts = {"test_list": ["assert double(4) == 424243"]}
    judge("def double(x): return 2 * x", asserts, sandbox=sandbox)
    with_program = [(s, i) for s, i in sandbox.seen if "return 2 * x" in s or "a + b" in s]
    assert len(with_program) == 3
    assert not any("424243" in s or b"424243" in data for s, i in with_program for data in i)


class Recorder(PlainSandbox):
    """Remembers everything that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, Sequence[bytes]]] = []

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        self.seen.append((source, inputs))
        return await super().run(source, inputs, limits)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("print(1)", "wrong_answer"),
        ("1/0", "runtime_error"),
        ("while True: pass", "time_limit"),
        ("x = [0] * 10**13", "memory_limit"),
        ("print('x' * 3_000_000)", "output_limit"),
        ("def broken(:", "runtime_error"),
        ("print('\0')\0", "runtime_error"),
    ],
)
def test_every_way_to_fail_has_a_name(program: str, reason: str) -> None:
    found = judge(program, {**ADD, "time_limit": 1})
    assert (found.reward, found.reason, found.verdicts) == (0.0, reason, (reason,))


def test_a_program_that_is_no_text_can_not_run() -> None:
    found = judge("print('\ud800')", ADD)
    assert (found.reward, found.reason, found.total) == (0.0, "runtime_error", 2)
    assert judge("print('\U0001f600')", ADD).reason == "wrong_answer"


def test_the_first_failure_ends_it_unless_all_are_asked_for() -> None:
    many = {"inputs": [f"{n}\n0\n" for n in range(12)], "outputs": [str(n) for n in range(12)]}
    wrong_at_2 = "a = int(input())\nprint(-1 if a == 2 else a)"
    sandbox = PlainSandbox()
    found = judge(wrong_at_2, many, sandbox=sandbox)
    assert found.verdicts == ("ok", "ok", "wrong_answer")
    assert (found.passed, found.total, sandbox.runs) == (2, 12, 4)
    found = judge(wrong_at_2, many, all_tests=True)
    assert (found.passed, found.total, len(found.verdicts)) == (11, 12, 12)


class Flaky(PlainSandbox):
    """Breaks at the tests whose input holds a word."""

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        outcomes = await super().run(source, inputs, limits)
        broken = Outcome("sandbox_error", b"", b"", None, 0.0, 0.0, "none", "gone")
        return [broken if b"20" in i else o for i, o in zip(inputs, outcomes, strict=True)]


def test_an_outage_is_never_a_verdict() -> None:
    found = judge(HONEST["input"], ADD, sandbox=Flaky())
    assert (found.reward, found.reason, found.verdicts) == (
        None,
        "sandbox_error",
        ("ok", "sandbox_error"),
    )
    assert found.detail == "gone"
    found = judge("print(1)", ADD, sandbox=Flaky())  # what failed before it still decides
    assert (found.reward, found.reason) == (0.0, "wrong_answer")
    asserts = {"test_list": ["assert double(20) == 40", "assert double(3) == 6"]}
    assert judge("def double(x): return 2 * x", asserts, sandbox=Flaky()).reason == "sandbox_error"


def test_no_tests_are_no_verdict() -> None:
    assert closed([], 0).reason == "bad_tests"
    assert closed([Finding("checker_error"), Finding("ok")], 2).reward is None


def test_results_come_back_with_their_types() -> None:
    program = "def f(x): return eval(x)"
    values = {
        "(1, [2.5, None], True)": [1, [2.5, None], True],
        "2 ** 64 * 10 ** 6000": 2**64 * 10**6000,
        "float('inf')": float("inf"),
        "{'a': 1, 'b': {2: 3}}": {"a": 1, "b": {"2": 3}},
        "'\\ud800 text'": "\ud800 text",
        "type('Int', (int,), {})(7)": 7,
        "__import__('collections').Counter('aab')": {"a": 2, "b": 1},
    }
    tests = {"inputs": [[text] for text in values], "outputs": [*values.values()], "fn_name": "f"}
    found = judge(program, tests, all_tests=True)
    assert (found.verdicts, found.detail) == (("ok",) * len(values), "")
    wrong = {"True": 1, "1": True, "'1'": 1, "{1, 2}": [1, 2], "None": 0, "object()": 0, "2.5": 2}
    tests = {"inputs": [[text] for text in wrong], "outputs": [*wrong.values()], "fn_name": "f"}
    assert judge(program, tests, all_tests=True).verdicts == ("wrong_answer",) * len(wrong)


def test_a_method_of_solution_is_called_with_leetcodes_nodes() -> None:
    starter = (
        "class Solution:\n"
        "    def merge(self, lists: List[Optional[ListNode]], t: Optional[TreeNode])"
        " -> Optional[ListNode]:"
    )
    program = """
class Solution:
    def merge(self, lists: List[Optional[ListNode]], t: Optional[TreeNode]) -> Optional[ListNode]:
        values = []
        for node in lists:
            while node:
                values.append(node.val)
                node = node.next
        while t:
            values.append(t.val)
            t = t.right
        head = None
        for value in sorted(values, reverse=True):
            head = ListNode(value, head)
        return head
"""
    tests = {
        "inputs": [[[[4, 5], [], [1]], [3, 9, 2]], [[[]], []]],
        "outputs": [[1, 2, 3, 4, 5], []],
        "fn_name": "merge",
        "starter_code": starter,
    }
    assert judge(program, tests).reason == "correct"


def test_a_program_may_do_what_it_likes_with_its_streams() -> None:
    program = """
import sys, os
print("loading")
def double(x):
    print("called with", x)
    sys.stdout.close()
    os.close(1)
    return 2 * x
"""
    assert judge(program, DOUBLE).reason == "correct"


def test_a_file_is_read_and_written_where_the_source_says_so() -> None:
    program = "a, b = map(int, open('input.txt'))\nopen('output.txt', 'w').write(str(a + b))"
    cases = [{"input": "5\n9\n", "output": "14\n"}]
    tests = {"official_tests": cases, "input_mode": "file"}
    assert judge(program, tests).reason == "correct"
    assert judge("print(14)", tests).reason == "runtime_error"


CHECKER = """
import sys
n = int(open(sys.argv[1]).read())
right = open(sys.argv[2]).read().split()
found = open(sys.argv[3]).read().split()
print(1 if sorted(map(int, found)) == sorted(map(int, right)) and len(found) == n else 0)
"""


@pytest.mark.parametrize(
    ("program", "checker", "reward", "reason"),
    [
        ("print('3 2 1')", CHECKER, 1.0, "correct"),
        ("print('3 2')", CHECKER, 0.0, "wrong_answer"),
        ("print('1 2 3')", "raise SystemExit(3)", 1.0, "correct"),  # what is equal needs no checker
        ("print('3 2 1')", "raise SystemExit(3)", None, "checker_error"),
        ("print('3 2 1')", "print('fine')", None, "checker_error"),
        ("1/0", CHECKER, 0.0, "runtime_error"),
    ],
)
def test_a_checker_decides_where_several_outputs_are_right(
    program: str, checker: str, reward: float | None, reason: str
) -> None:
    cases = [{"input": "3\n", "output": "1 2 3\n"}]
    found = judge(program, {"official_tests": cases, "generated_checker": checker})
    assert (found.reward, found.reason) == (reward, reason)
