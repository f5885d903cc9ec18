"""Every source's form of tests, and what is refused."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

import pytest

from vtdata.errors import DataError
from vtdata.verify.code import read_tests
from vtdata.verify.code.model import Asserts, Call, Text
from vtdata.verify.code.private import _inflated, private_tests
from vtdata.verify.code.values import value_of


def packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


STDIN = [{"input": "1\n", "output": "2\n", "testtype": "stdin"}]
FUNCTIONAL = [{"input": '[1, 2]\n"ab"', "output": "[2]", "testtype": "functional"}]


def test_livecodebench() -> None:
    row = {
        "public_test_cases": json.dumps(STDIN),
        "private_test_cases": packed(json.dumps([{**STDIN[0], "input": "3\n"}])),
        "metadata": "{}",
    }
    tests = read_tests(row)
    assert (tests.style, tests.imports) == ("stdin", True)
    assert tests.tests == (Text(b"1\n", b"2\n"), Text(b"3\n", b"2\n"))
    row = {
        "public_test_cases": json.dumps(FUNCTIONAL),
        "private_test_cases": json.dumps(FUNCTIONAL),
        "metadata": '{"func_name": "f"}',
        "starter_code": "class Solution:\n    def f(self, a: List[int], b: str):",
    }
    tests = read_tests(row)
    assert (tests.style, tests.fn_name, len(tests.tests)) == ("call", "f", 2)
    assert tests.tests[0] == Call(([1, 2], "ab"), [2])


class Evil:
    def __reduce__(self) -> Any:
        return (print, ("run",))


@pytest.mark.parametrize(
    "value", [packed(Evil()), packed(["[]"]), packed(("a", "b")), "!!", packed("[]")[:-8], "abcd"]
)
def test_private_tests_are_a_text_or_nothing(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError) as caught:
        private_tests(value)
    assert caught.value.reason == "bad_tests"
    assert capsys.readouterr().out == ""


def test_a_bomb_is_not_unfolded() -> None:
    bomb = base64.b64encode(zlib.compress(b"0" * 10_000_000)).decode()
    with pytest.raises(DataError, match="unfolds to more than 1000000 bytes"):
        _inflated(bomb, 1_000_000)


def test_apps_and_its_kin() -> None:
    tests = read_tests({"input_output": json.dumps({"inputs": ["1\n2"], "outputs": [["3", "4"]]})})
    assert tests.tests == (Text(b"1\n2", b"3\n4"),)
    inner = {"inputs": [[1, [2]]], "outputs": [[5]], "fn_name": "f"}
    tests = read_tests({"input_output": json.dumps(inner), "starter_code": "def f(a, b):"})
    assert (tests.tests, tests.wrapped, tests.imports) == ((Call((1, [2]), [5]),), True, False)
    inner = {"inputs": ['1\n"x"', "2\n3"], "outputs": ['"5"', "[6, 7]"], "fn_name": "f"}
    tests = read_tests({"input_output": inner})
    assert tests.tests == (Call((1, "x"), "5"), Call((2, 3), [6, 7]))
    assert not tests.wrapped
    row = {"input_output": inner, "time_limit": "2.5 seconds", "memory_limit": "512 megabytes"}
    tests = read_tests(row)
    assert (tests.cpu_s, tests.memory_mib) == (2.5, 512)


def test_codecontests() -> None:
    row = {
        "public_tests": {"input": ["1"], "output": ["2"]},
        "private_tests": {"input": [], "output": []},
        "generated_tests": {"input": ["3"], "output": ["4"]},
        "time_limit": {"seconds": 1, "nanos": 500_000_000},
        "memory_limit_bytes": 256_000_000,
        "solutions": {"language": [3, 2], "solution": ["print(2)", "int main(){}"]},
        "incorrect_solutions": {"language": [3], "solution": ["print(3)"]},
    }
    tests = read_tests(row)
    assert tests.tests == (Text(b"1", b"2"), Text(b"3", b"4"))
    assert (tests.cpu_s, tests.memory_mib) == (1.5, 244)
    assert (tests.accepted, tests.rejected) == (("print(2)",), ("print(3)",))
    limits = tests.limits()
    assert (limits.cpu_s, limits.wall_s, limits.memory_mib) == (1.5, 7.5, 256)


def test_codeforces() -> None:
    row = {
        "official_tests": [{"input": "1", "output": "2"}],
        "input_mode": "file",
        "generated_checker": "print(1)",
        "time_limit": 2.0,
        "memory_limit": 512.0,
    }
    tests = read_tests(row)
    assert (tests.files, tests.checker, tests.cpu_s, tests.memory_mib) == (
        True,
        "print(1)",
        2.0,
        512,
    )
    with pytest.raises(DataError, match="interactive"):
        read_tests({**row, "interaction_format": "ask"})


def test_assertions() -> None:
    row = {"test": "def check(candidate):\n    assert candidate(1) == 2", "entry_point": "f"}
    tests = read_tests(row)
    assert (tests.style, tests.fn_name) == ("assert", "f")
    assert tests.tests[0] == Asserts(f"{row['test']}\n\ncheck(f)\n")
    row = {"test_list": ["assert f(1) == 2", "assert f(2) == 3"], "test_setup_code": "x = 1"}
    assert read_tests(row).tests[1] == Asserts("x = 1\nassert f(2) == 3\n")
    assert len(read_tests({"assert_case": ["assert f(1) == 2"]}).tests) == 1


def test_plain() -> None:
    row = {
        "inputs": ["1\n"],
        "outputs": ["2\n"],
        "order": "any",
        "accepted": ["a"],
        "rejected": "b",
    }
    tests = read_tests(row)
    assert (tests.order, tests.accepted, tests.rejected) == ("any", ("a",), ("b",))
    assert read_tests({"format": "plain", **row}) == tests


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({}, "no tests among no columns"),
        ({"inputs": ["1"]}, "outputs is NoneType, need a list"),
        ({"inputs": ["1"], "outputs": []}, "1 inputs and 0 outputs"),
        ({"inputs": [], "outputs": []}, "there is no test"),
        ({"inputs": [1], "outputs": [1]}, "input is int, need text"),
        ({"inputs": [[1]], "outputs": [1], "fn_name": "f("}, "fn_name is 'f('"),
        ({"inputs": ["1"], "outputs": ["1"], "time_limit": "soon"}, "time_limit is 'soon'"),
        ({"inputs": ["1"], "outputs": ["1"], "order": "random"}, "write kept or any"),
        ({"inputs": ["..."], "outputs": ["1"], "fn_name": "f"}, "a ellipsis is no data"),
        ({"inputs": ["[" * 300 + "]" * 300], "outputs": ["1"], "fn_name": "f"}, "nested deeper"),
        ({"format": "apss", "input_output": "{}"}, "did you mean 'apps'?"),
        ({"input_output": "{"}, "no JSON"),
        ({"public_test_cases": [{"testtype": "x"}]}, "testtype is x"),
        ({"public_test_cases": FUNCTIONAL}, "metadata.func_name"),
        ({"test": "def check(c): pass"}, "entry_point is None"),
    ],
)
def test_what_is_wrong_is_said(row: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError) as caught:
        read_tests(row)
    assert caught.value.reason == "bad_tests"
    assert says in caught.value.detail


def test_long_numbers_and_literals_are_values() -> None:
    assert value_of("9" * 5_000) == 10**5_000 - 1
    assert value_of("-" + "9" * 5_000) == 1 - 10**5_000
    assert value_of("(1, 'a')") == (1, "a")
    assert value_of("__import__('os')") == "__import__('os')"
